package bring

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postage/internal/usermsg"
)

// Messages of one short name have a folder each, whichever comes first, and find it again.
func TestMessagesOfOneNameHaveAFolderEach(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ name, full, want string }{
		{"Order", "shop.Order", "Order"},
		{"Order", "depot.Order", "depot.Order"},
		{"Order", "shop.Order", "Order"},
		{"Order", "depot.Order", "depot.Order"},
		{"model.Order", "example.com/a/model.Order", "model.Order"},
		{"model.Order", "example.com/b/model.Order", "example.com.b.model.Order"},
	} {
		w, err := Open(t.Context(), c.name, c.full)
		if err != nil {
			t.Fatal(err)
		}
		if w.Name != c.want || filepath.Base(w.folder) != c.want {
			t.Errorf("%s is called %s in %s, want %s", c.full, w.Name, w.folder, c.want)
		}
		if err := w.Configure(usermsg.Config{}, new(Samples)); err != nil {
			t.Fatal(err)
		}
	}
}

// The file that does not compile is named by its own path, also where the workspace is within the
// source and the compiler's paths begin there, or in a folder whose name begins as that above it.
func TestCompileErrorNamesTheFile(t *testing.T) {
	top := t.TempDir()
	tree := filepath.Join(top, "src", "postage")
	for _, folder := range []string{filepath.Join(tree, ".postage", "bring", "M"), filepath.Join(top, "src-mine", "M"), filepath.Join(top, "M")} {
		broken := filepath.Join(folder, "generated", "part", "part.go")
		for path, text := range map[string]string{
			filepath.Join(tree, "go.mod"):          "module m\n\ngo 1.26\n",
			filepath.Join(tree, "main", "main.go"): "package main\n\nimport _ \"m/part\"\n\nfunc main() {}\n",
			filepath.Join(tree, "part", "part.go"): "package part\n",
			broken:                                 "package part\n\nvar x = missing\n",
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("GOWORK", "off")
		w := &Workspace{Name: "M", folder: folder, tree: tree}
		path, said, err := w.compile(t.Context(), &usermsg.Code{Overlay: map[string]string{"part/part.go": broken}, Main: "main"})
		if err != nil || path != broken || !strings.Contains(said, "undefined: missing") {
			t.Errorf("%s: %s, %v; want %s", path, said, err, broken)
		}
	}
}

// Two commands in one folder take turns, and the one that waits says so.
func TestOneCommandAtATime(t *testing.T) {
	w := &Workspace{Name: "M", folder: filepath.Join(t.TempDir(), "M")}
	var at, waited atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			unlock, err := w.Lock(t.Context(), func() { waited.Add(1) })
			if err != nil {
				t.Error(err)
				return
			}
			if n := at.Add(1); n > 1 {
				t.Errorf("%d at once", n)
			}
			time.Sleep(20 * time.Millisecond)
			at.Add(-1)
			if err := unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if waited.Load() == 0 {
		t.Error("nobody waited")
	}
}

// The source is this module's, also in the module of a program that has suites of its own.
func TestSourceInAnotherModule(t *testing.T) {
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	mod := "module example.org/sum\n\ngo 1.26\n\nrequire postage v0.0.0\n\nreplace postage => " + tree + "\n"
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(mod), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", "off")
	for _, in := range []string{folder, t.TempDir(), tree} {
		t.Chdir(in)
		if got, err := source(t.Context()); err != nil || got != tree {
			t.Errorf("%s: %s, %v; want %s", in, got, err, tree)
		}
	}
}

// sourceFiles are digests of all that a build of the source reads or could write there.
func sourceFiles(t *testing.T, tree string) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".postage" || d.Name() == "testdata"):
			return fs.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum", ".work", ".proto", ".capnp", ".fbs":
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[path] = sha256.Sum256(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, found := files[filepath.Join(tree, "go.work.sum")]; !found {
		t.Fatalf("%s has no go.work.sum", tree)
	}
	return files
}
