package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// outside needs every public package and nothing internal.
const outside = `package main

import (
	"encoding/json"
	"io"

	"postage/lab"
	_ "postage/load"
	_ "postage/pbfast"
	_ "postage/pgbulk"
	_ "postage/record"
	_ "postage/webpush"
)

var _ = lab.Suite{
	Figures: lab.Figures{Spoken: func(string) string { return "a block, summed" }},
	Servers: map[string]lab.Server{"echo": func(in io.Reader, out io.Writer) error {
		return lab.Serve(in, out, nil, func(question json.RawMessage) (any, error) { return question, nil })
	}},
}
`

// The program in docs/suites.md is built in a module outside this repository, and the page's
// commands are executed.
func TestSuitesOfOthers(t *testing.T) {
	needLong(t, "builds a program")
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	in := func(program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := exec.Command("go", "-C", root, "list", "-f", "{{.Module.Path}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.TrimSpace(string(module))
	mod := "module example.org/sum\n\ngo 1.26.0\n\nrequire " + ours + " v0.0.0\n\nreplace " + ours + " => " + root + "\n"
	for _, library := range []string{"pbfast", "pgbulk", "webpush"} {
		mod += "\nreplace " + ours + "/" + library + " => " + filepath.Join(root, library) + "\n"
	}
	for name, text := range map[string]string{"go.mod": mod, "go.sum": string(sums), "main.go": fenced(t, "docs/suites.md", "go")[0], "outside.go": outside, "gate.yaml": "time: 20%\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"go", "build", "-o", "sums", "."}, {"git", "init", "-q"}, {"git", "add", "go.mod", "go.sum", "main.go", "outside.go"},
		{"git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "sums"}} {
		if out, err := in(args[0], args[1:]...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	// It has the packages that it imports, and none of our stages.
	if out, err := in("go", "list", "-deps", "."); err != nil || strings.Contains(out, "postage/stage") || !strings.Contains(out, "postage/cli") {
		t.Errorf("its packages: %v\n%s", err, out)
	}
	says := map[string]string{
		"list":    `hash=crc32 +contender`,
		"run":     `(?m)^crc32 +[0-9.]+`,
		"compare": `Sum/size=4KB`,
		"history": `ratio to hash=adler32 \(go1`,
		"show":    `page saved as sums\.html`,
	}
	executed := 0
	for line := range strings.Lines(fenced(t, "docs/suites.md", "sh")[0]) {
		args := wordsOf(strings.TrimSpace(line))
		out, err := in(filepath.Join(folder, args[0]), shortened(args[1:])...)
		// Such a short run has too few blocks, and on a busy machine the same code may regress by
		// chance.
		var exit *exec.ExitError
		if err != nil && !(slices.Contains(args, "--gate") && errors.As(err, &exit) && (exit.ExitCode() != 2 || strings.Contains(out, "too few blocks"))) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		if want := says[args[1]]; !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: want %q in\n%s", line, want, out)
		}
		executed++
	}
	if page, err := os.ReadFile(filepath.Join(folder, "sums.html")); executed != 10 || err != nil || !strings.Contains(string(page), "Sum/size=4KB") {
		t.Errorf("%d commands; the page: %v", executed, err)
	}
	// It has its own name and rows, and no word of ours.
	for _, args := range [][]string{{"run", "--help"}, {"--help"}, {"bench", "--help"}, {"load", "--help"}, {"--version"}, {"run", "nothing"}, {"unknown"}} {
		out, _ := in(filepath.Join(folder, "sums"), args...)
		if !strings.Contains(out, "sums") || regexp.MustCompile("(^|[\\s`])postage |Encode|--dsn").MatchString(out) {
			t.Errorf("%q: it says\n%s", args, out)
		}
	}
	if out, err := in(filepath.Join(folder, "sums"), "--version"); err != nil || !strings.HasPrefix(out, "sums (devel), commit unknown, go1.") {
		t.Errorf("its version: %v\n%s", err, out)
	}
}
