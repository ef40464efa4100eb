package rehome_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const (
	address     = "git.example.net/team/post"
	placeholder = "example.org/you/postage" // that documents give as an example
)

// rehome changes the checkout at root. The error has what the script said.
func rehome(root, address, version string) error {
	script, err := filepath.Abs("rehome.sh")
	if err != nil {
		return err
	}
	cmd := exec.Command(script, address, version)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// tracked are the checkout's files, relative to root, without those that git ignores.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	var files []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files, err
}

// run is what a program prints to standard output; the test ends if it fails.
func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// copied is a copy of this checkout's files under git.
func copied(t *testing.T) string {
	t.Helper()
	root := filepath.Join("..", "..")
	files, err := tracked(root)
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	to := t.TempDir()
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o777), os.WriteFile(target, text, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, to, nil, "git", "init", "-q")
	return to
}

// A copy of this repository gets an address. All that imports something finds it there, and a
// module outside, which knows the libraries from a module proxy alone, seals a message and upserts
// a row.
func TestRehome(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("builds a copy of the repository: POSTAGE_LONG=1")
	}
	root := copied(t)
	if err := rehome(root, address, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(run(t, root, nil, "go", "list", "-deps", "-test", "work")) {
		if pkg == "postage" || strings.HasPrefix(pkg, "postage/") {
			t.Errorf("%s is still imported by its old path", pkg)
		}
	}
	files, err := tracked(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil {
			t.Error(err)
		} else if bytes.Contains(text, []byte(placeholder)) && !strings.HasPrefix(name, "tools/rehome/") {
			t.Errorf("%s still names %s", name, placeholder)
		}
	}

	proxy := t.TempDir()
	for _, library := range []string{"pgbulk", "webpush"} {
		publish(t, proxy, filepath.Join(root, library), address+"/"+library, "v0.1.0")
	}
	outside := t.TempDir()
	program, err := os.ReadFile(filepath.Join("testdata", "outside", "main.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	program = bytes.ReplaceAll(program, []byte(placeholder), []byte(address))
	if err := os.WriteFile(filepath.Join(outside, "main.go"), program, 0o666); err != nil {
		t.Fatal(err)
	}
	// A module cache of its own, as ours would keep what this test publishes. What is public comes
	// from ours.
	cache := t.TempDir()
	env := []string{
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE=" + cache, "GONOSUMDB=" + address, "GONOPROXY=none", "GOPRIVATE=",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + path.Join(run(t, "", nil, "go", "env", "GOMODCACHE"), "cache/download") + "," + run(t, "", nil, "go", "env", "GOPROXY"),
	}
	run(t, outside, env, "go", "mod", "init", "example.com/outside")
	run(t, outside, env, "go", "get", address+"/webpush@v0.1.0")
	if code, named := summed(t, outside); len(code) > 1 || len(named) > 4 {
		t.Errorf("webpush alone brings the code of %q, and go.sum names %q", code, named)
	}
	run(t, outside, env, "go", "get", address+"/pgbulk@v0.1.0")
	run(t, outside, env, "go", "get", ".")
	run(t, outside, env, "go", "build", "-trimpath", "-o", "outside", ".")
	if code, named := summed(t, outside); len(code) > 8 || len(named) > 16 {
		t.Errorf("both libraries bring the code of %d modules, %q; go.sum names %d: %q", len(code), code, len(named), named)
	} else {
		t.Logf("both libraries bring the code of %d modules, %q; go.sum names %d: %q", len(code), code, len(named), named)
	}
	args, want := []string{"both"}, "opened: Dinner is ready\nrows: 1, Metropolis"
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 && os.Getenv("CI") != "true" {
		t.Log("no PostgreSQL on this machine: no row is written")
		args, want = []string{"seal"}, "opened: Dinner is ready"
	}
	if got := run(t, outside, nil, "./outside", args...); got != want {
		t.Errorf("the program outside printed %q, want %q", got, want)
	}
}

// summed are the modules that go.sum names, and those of them whose code it has, not only their
// go.mod.
func summed(t *testing.T, dir string) (code, named []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("go.sum: %q", line)
		}
		named = append(named, f[0])
		if !strings.HasSuffix(f[1], "/go.mod") {
			code = append(code, f[0])
		}
	}
	slices.Sort(code)
	slices.Sort(named)
	return slices.Compact(code), slices.Compact(named)
}

// publish puts a module into a folder that is laid out as a module proxy, see
// https://go.dev/ref/mod#goproxy-protocol.
func publish(t *testing.T, proxy, dir, modulePath, version string) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := modzip.CreateFromDir(&archive, module.Version{Path: modulePath, Version: version}, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len())); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		version + ".zip": archive.Bytes(), version + ".mod": mod,
		version + ".info": []byte(`{"Version":"` + version + `"}`), "list": []byte(version + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(at, name), text, fs.FileMode(0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// What is no address, or no version, changes nothing.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module postage\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, version, want string }{
		{"postage", "v0.1.0", "is not a module path"},
		{"https://example.org/x", "v0.1.0", "is not a module path"},
		{"example.org/x", "1.0", "is not a version"},
	} {
		if err := rehome(dir, c.address, c.version); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("rehome to %q at %q: %v, want %q", c.address, c.version, err, c.want)
		}
	}
}
