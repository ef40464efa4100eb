// Rehome gives the modules of this repository the address of their host:
//
//	go run ./tools/rehome example.org/you/postage
//
// The modules are called postage, postage/pgbulk and so on, which no go get finds. Rehome changes
// the module and require lines of every go.mod, the imports of every Go file, and the addresses
// that documents and scripts name. Run it once, in the checkout; then commit, and tag each module
// (v0.1.0, pgbulk/v0.1.0, webpush/v0.1.0).
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// placeholder is the address that documents give as an example.
const placeholder = "example.org/you/postage"

func main() {
	flags := flag.NewFlagSet("rehome", flag.ExitOnError)
	version := flags.String("version", "v0.1.0", "the `version` at which the modules require each other, to be tagged")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: go run ./tools/rehome [-version v0.1.0] ADDRESS\n\nGives this checkout's modules an address such as "+placeholder+".")
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:])
	if flags.NArg() != 1 {
		flags.Usage()
		os.Exit(2)
	}
	if err := rehome(".", flags.Arg(0), *version); err != nil {
		fmt.Fprintln(os.Stderr, "rehome:", err)
		os.Exit(1)
	}
}

// rehome changes the checkout at root.
func rehome(root, address, version string) error {
	if err := module.CheckPath(address); err != nil {
		return fmt.Errorf("%w\nhint: an address is a host and a path, such as %s", err, placeholder)
	}
	if !semver.IsValid(version) {
		return fmt.Errorf("%q is not a version such as v0.1.0", version)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return fmt.Errorf("%w\nhint: run it at the top of the checkout", err)
	}
	m := &move{root: root, from: modfile.ModulePath(mod), to: address, version: version}
	files, err := tracked(root)
	if err != nil {
		return err
	}
	// Nothing is written before everything could be read.
	changed := map[string][]byte{}
	for _, name := range files {
		old, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		text, err := m.file(name, old)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(text, old) {
			changed[name] = text
		}
	}
	for name, text := range changed {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s is %s now: %d files changed\n", m.from, m.to, len(changed))
	return nil
}

// tracked are the checkout's files, relative to root, without those that git ignores.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files, nil
}

// A move is from one address to another.
type move struct{ root, from, to, version string }

// path is an import or module path at the new address; others are left as they are.
func (m *move) path(old string) string {
	if old == m.from || strings.HasPrefix(old, m.from+"/") {
		return m.to + strings.TrimPrefix(old, m.from)
	}
	return old
}

// file is a file's text at the new address.
func (m *move) file(name string, text []byte) ([]byte, error) {
	switch base := filepath.Base(name); {
	case base == "go.mod":
		return m.mod(name, text)
	case filepath.Ext(base) == ".go":
		return m.imports(name, text)
	case slices.Contains([]string{".md", ".txtar", ".yml"}, filepath.Ext(base)), name == ".ci/run":
		return m.prose(text), nil
	}
	return text, nil
}

func (m *move) mod(name string, text []byte) ([]byte, error) {
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	if err := file.AddModuleStmt(m.path(file.Module.Mod.Path)); err != nil {
		return nil, err
	}
	for _, r := range file.Require {
		if to := m.path(r.Mod.Path); to != r.Mod.Path {
			r.Syntax.Token[len(r.Syntax.Token)-2], r.Syntax.Token[len(r.Syntax.Token)-1] = to, m.version
		}
	}
	for _, r := range file.Replace {
		r.Syntax.Token[slices.Index(r.Syntax.Token, r.Old.Path)] = m.path(r.Old.Path)
	}
	return file.Format()
}

// imports moves the import declarations of a Go file.
func (m *move) imports(name string, text []byte) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	out := text
	for i := len(file.Imports) - 1; i >= 0; i-- {
		spec := file.Imports[i]
		old, _ := strconv.Unquote(spec.Path.Value) // which the parser has read
		if to := m.path(old); to != old {
			at, end := set.Position(spec.Path.Pos()).Offset, set.Position(spec.Path.End()).Offset
			out = []byte(string(out[:at]) + strconv.Quote(to) + string(out[end:]))
		}
	}
	if bytes.Equal(out, text) {
		return text, nil
	}
	return format.Source(out) // a longer path can sort elsewhere
}

// prose moves addresses in documents and scripts: the placeholder, and import paths of packages
// that the repository has.
func (m *move) prose(text []byte) []byte {
	paths := regexp.MustCompile(`(^|[\s"'(=` + "`" + `])` + regexp.QuoteMeta(m.from) + `/([a-z]+)`)
	text = paths.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := paths.FindSubmatch(found)
		if info, err := os.Stat(filepath.Join(m.root, string(parts[2]))); err != nil || !info.IsDir() {
			return found
		}
		return []byte(string(parts[1]) + m.to + "/" + string(parts[2]))
	})
	return bytes.ReplaceAll(text, []byte(placeholder), []byte(m.to))
}
