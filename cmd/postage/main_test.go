package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// beMain makes the test program be postage: its scripts, and the workers that
// the tests' runs start, are this program again.
const beMain = "POSTAGE_TEST_BE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// Each script is a little story: commands, and what they print.
func TestScripts(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, "bin")
			if err := os.Mkdir(bin, 0o777); err != nil {
				return err
			}
			if err := os.Symlink(program, filepath.Join(bin, "postage")); err != nil {
				return err
			}
			env.Setenv(beMain, "1")
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
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
