package cli

import (
	"errors"
	"flag"
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

// TestMain has four scripts run side by side, however few processors there are: most of them wait
// for a server or for a budget.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(executable.folder) // nothing, if it is ""
	os.Exit(code)
}

// long is the rule of CONTRIBUTING.md for what costs more than everybody's tests may.
func long() bool { return os.Getenv("POSTAGE_LONG") != "" }

// needLong skips a test that costs more.
func needLong(t *testing.T, why string) {
	t.Helper()
	if !long() {
		t.Skip(why + ": POSTAGE_LONG=1")
	}
}

var records map[string][]byte

// recorded are the records of two short runs, which scripts begin with. They are measured once,
// side by side: what they say does not matter.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	if records != nil {
		return records
	}
	names := []string{"one.txt", "two.txt"}
	texts, errs := make([][]byte, len(names)), make([]error, len(names))
	var runs sync.WaitGroup
	for i, name := range names {
		folder, bin := t.TempDir(), built(t)
		runs.Go(func() {
			cmd := exec.Command(bin, "run", "Encode/msg=tiny/op=encode/codec=msgp", "--budget", "6s", "--precision", "40%", "--out", name)
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("%w: %s", err, out)
				return
			}
			texts[i], errs[i] = os.ReadFile(filepath.Join(folder, name))
		})
	}
	runs.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	records = map[string][]byte{}
	for i, name := range names {
		records[name] = texts[i]
	}
	return records
}

// Each script has commands, and what they print. It begins with the records of two runs, one.txt
// and two.txt. What follows "[!long] stop" costs more.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(built(t))
	caches, err := build.Output(t.Context(), "", "go", "env", "GOCACHE", "GOMODCACHE", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.Fields(caches)
	runs := recorded(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("GOCACHE", cache[0])
			env.Setenv("GOMODCACHE", cache[1])
			env.Setenv("GOPROXY", cache[2])
			for name, text := range runs {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), text, 0o666); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return long(), nil
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
