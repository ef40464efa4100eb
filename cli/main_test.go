package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/feature/build"
	"postage/stage"
)

// postage runs the command in this process.
var postage = program{"postage", stage.Suites()}

// executable is the command as "go run" builds it. It is in the build cache if anybody has run it
// before: linking takes as long as a test.
var executable = sync.OnceValues(func() (string, error) {
	for range 2 { // what is linked now is gone when go ends, and in the cache for the next
		cmd := exec.Command("go", "run", "-exec", "echo", "./cmd/postage")
		cmd.Dir = repository
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("go run: %w\n%s", err, &stderr)
		}
		path := strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("go run keeps no program in its cache")
})

// built is the path of the command, built: measuring starts the program again.
func built(t *testing.T) string {
	t.Helper()
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMain has six tests run side by side, however few processors there are: most of those that
// are parallel wait for a server or for a budget. The long ones want intervals within theirs.
func TestMain(m *testing.M) {
	flag.Parse()
	sideBySide := "6"
	if long() {
		sideBySide = "4"
	}
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
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

// records are of two short runs, which scripts begin with. They are measured once, side by
// side: what they say does not matter.
var records = sync.OnceValues(func() (map[string][]byte, error) {
	bin, err := executable()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "postage-records-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	names := []string{"one.txt", "two.txt"}
	texts, errs := make([][]byte, len(names)), make([]error, len(names))
	var runs sync.WaitGroup
	for i, name := range names {
		runs.Go(func() {
			cmd := exec.Command(bin, "run", "Encode/msg=tiny/op=encode/codec=msgp", "--budget", "2s", "--precision", "40%", "--out", name)
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("%w: %s", err, out)
				return
			}
			texts[i], errs[i] = os.ReadFile(filepath.Join(folder, name))
		})
	}
	runs.Wait()
	return map[string][]byte{names[0]: texts[0], names[1]: texts[1]}, errors.Join(errs...)
})

func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	r, err := records()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each script has commands, and what they print. It begins with the records of two runs, one.txt
// and two.txt. What follows "[!long] stop" costs more.
func TestScripts(t *testing.T) {
	t.Parallel()
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

// Every command's help, short and whole, fits on a terminal of 80 columns. The whole has every flag,
// once; the short one of load fits on a screen.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command, path []string)
	visited := 0
	visit = func(cmd *cobra.Command, path []string) {
		for _, how := range [][]string{{"--help"}, {"--help", "all"}} {
			code, stdout, stderr := command(append(slices.Clone(path), how...)...)
			if code != 0 || stderr != "" || !strings.Contains(stdout, "Usage:") {
				t.Errorf("%v %v: %d, %s", path, how, code, stderr)
			}
			for line := range strings.Lines(stdout) {
				if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > helpWidth {
					t.Errorf("%v %v: %d columns: %s", path, how, columns, line)
				}
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				listed := regexp.MustCompile(`(?m)^ +(-., )?--`+f.Name+`( |$)`).FindAllString(stdout, -1)
				if len(how) == 2 && len(listed) == 1 == f.Hidden {
					t.Errorf("%v %v: %d lines for --%s", path, how, len(listed), f.Name)
				}
			})
			if n := strings.Count(stdout, "\n"); len(how) == 1 && cmd.Name() == "load" && n > 40 {
				t.Errorf("%v %v: %d lines", path, how, n)
			}
		}
		visited++
		for _, below := range cmd.Commands() {
			if !below.Hidden {
				visit(below, append(slices.Clone(path), below.Name()))
			}
		}
	}
	visit(postage.newRoot(), nil)
	if visited < 12 {
		t.Errorf("only %d commands", visited)
	}
}
