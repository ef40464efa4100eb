package profile

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Go's compiler has a default.pgo, as `go tool pprof -proto` merges it.
func TestPGO(t *testing.T) {
	file := filepath.Join(build.Default.GOROOT, "src/cmd/compile/default.pgo")
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	s := summaryOf(t, opened(t, file))
	if s.Samples < 10_000 || s.Unknown.Value > 0.01 || len(s.Libraries) == 0 || !strings.HasPrefix(s.Libraries[0].Operation, "cmd/") || s.Libraries[0].Share.Value < 0.3 {
		t.Errorf("%d samples, not attributed %v, libraries %+v", s.Samples, s.Unknown, s.Libraries)
	}
}

func opened(t *testing.T, file string) *Source {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := Read(file, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
