package seal

import (
	"fmt"
	"os"
	"testing"
)

// The test program is its own push service, as postage is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve-push" {
		if err := ServePush(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
