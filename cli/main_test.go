package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"postage/build"
	"postage/stage"
)

// postage runs the command in this process.
var postage = program{stage.Suites()}

// executable is the command as "go run" builds it: in such a folder, and without its commit.
var executable struct {
	once   sync.Once
	folder string
	err    error
}

// built is the path of the command, built: measuring starts the program again.
func built(t *testing.T) string {
	t.Helper()
	e := &executable
	e.once.Do(func() {
		if e.folder, e.err = os.MkdirTemp("", "go-build"); e.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", e.folder, "./cmd/postage")
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			e.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if e.err != nil {
		t.Fatal(e.err)
	}
	return filepath.Join(e.folder, "postage")
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(executable.folder) // nothing, if it is ""
	os.Exit(code)
}

// Each script has commands, and what they print.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(built(t))
	caches, err := build.Output(t.Context(), "", "go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.Fields(caches)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("GOCACHE", cache[0])
			env.Setenv("GOMODCACHE", cache[1])
			env.Setenv("GOPROXY", cache[2])
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cut": scriptCut,
		},
	})
}

// scriptCut takes the last third of a file away.
func scriptCut(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)*2/3]), 0o666))
}
