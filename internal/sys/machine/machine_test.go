package machine

import (
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	m := Read(time.Millisecond)
	if m.GOOS == "" || m.GOARCH == "" || m.Cores < 1 || !strings.HasPrefix(m.Go, "go") || m.Counters == "" {
		t.Errorf("%+v", m)
	}
	if m.GOOS == "linux" && (m.MemoryBytes <= 0 || m.Kernel == "" || m.Load == nil) {
		t.Errorf("%+v", m)
	}
}
