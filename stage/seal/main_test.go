package seal

import (
	"os"
	"testing"

	"postage/internal/sys/proc"
)

// The test program is its own push service, as postage is.
func TestMain(m *testing.M) {
	proc.ServeIfStarted(Suite().Servers)
	os.Exit(m.Run())
}
