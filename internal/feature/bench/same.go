package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"postage/internal/feature/build"
)

// unseen are settings by which the go command reads what is not in a package's list of files.
var unseen = regexp.MustCompile(`-(overlay|pgo|modfile|toolexec)\b`)

// unlisted are includes of C and assembly that lie in other folders.
var unlisted = regexp.MustCompile(`#include\s+"[^"]*/`)

// listed is a package as go list has it.
type listed struct {
	ImportPath, Dir, DefaultGODEBUG              string
	Standard, Incomplete                         bool
	Module                                       *module
	Deps                                         []string
	GoFiles, SFiles, HFiles, EmbedFiles          []string
	CgoFiles, SwigFiles, SwigCXXFiles, SysoFiles []string
	TestGoFiles, XTestGoFiles                    []string
	Error                                        *struct{ Err string }
}

type module struct {
	Path, Version, Dir, GoVersion string
	Replace                       *module
}

// inputsOf reads what the packages' tests are compiled from: a digest by test binary
// ("example.org/m.test"), and the versions of modules by path, and of "go". Equal digests mean the
// same code; what cannot be known to be has the folder in it, which differs. It builds nothing.
func inputsOf(ctx context.Context, source *build.Source, packages []Package) (sums, versions map[string]string, err error) {
	var paths []string
	for _, p := range packages {
		paths = append(paths, p.Path)
	}
	const fields = "-json=ImportPath,Dir,DefaultGODEBUG,Standard,Incomplete,Module,Deps,GoFiles,SFiles,HFiles,EmbedFiles,CgoFiles,SwigFiles,SwigCXXFiles,SysoFiles"
	environment, err := source.Output(ctx, "go", "env", "GOVERSION", "GOROOT", "GOFLAGS", "GOMODCACHE")
	if err != nil {
		return nil, nil, err
	}
	facts := strings.Split(environment+"\n\n\n", "\n")
	sums, versions = map[string]string{}, map[string]string{"go": facts[0]}
	all, err := goList(ctx, source, paths, "-test", "-deps", fields)
	if err != nil {
		return nil, nil, err
	}
	var tests []listed
	own := map[string]string{}
	for _, p := range all {
		if m := p.Module; m != nil && (m.Version != "" || m.Replace != nil) {
			versions[m.Path] = m.Version
			if m.Replace != nil {
				versions[m.Path] = strings.TrimSpace(m.Replace.Path + " " + m.Replace.Version)
			}
		}
		own[p.ImportPath] = p.sum(facts[3], versions)
		if strings.HasSuffix(p.ImportPath, ".test") {
			tests = append(tests, p)
		}
	}
	for _, p := range tests {
		h := sha256.New()
		fmt.Fprintln(h, facts[:3], own[p.ImportPath], p.data())
		for _, dep := range p.Deps {
			fmt.Fprintln(h, dep, own[dep])
		}
		if unseen.MatchString(facts[2]) {
			fmt.Fprintln(h, p.Dir)
		}
		sums[p.ImportPath] = fmt.Sprintf("%x", h.Sum(nil))
	}
	return sums, versions, nil
}

// sum is a digest of a package's own source: by its version, if it is in Go or the module cache.
func (p *listed) sum(cache string, versions map[string]string) string {
	if p.Standard {
		return ""
	}
	h := sha256.New()
	if p.Module != nil {
		fmt.Fprintln(h, p.Module.GoVersion)
		if below, err := filepath.Rel(cache, p.Dir); err == nil && filepath.IsLocal(below) {
			return versions[p.Module.Path]
		}
	}
	if p.Module == nil || p.Incomplete || len(p.CgoFiles)+len(p.SwigFiles)+len(p.SwigCXXFiles) > 0 {
		fmt.Fprintln(h, p.Dir)
	}
	fmt.Fprintln(h, p.ImportPath, p.DefaultGODEBUG)
	for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles, p.SysoFiles, []string{"default.pgo"}) {
		if filepath.IsAbs(name) {
			continue // the tests' main function, which follows from their names
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		fmt.Fprintf(h, "%q %x %t\n", name, sha256.Sum256(text), err == nil)
		if !strings.HasSuffix(name, ".go") && unlisted.Match(text) || bytes.Contains(text, []byte("//go:cgo_")) {
			fmt.Fprintln(h, p.Dir)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// data is a digest of the testdata folders of a package and of those above it in its module, as
// benchmarks read them.
func (p *listed) data() string {
	h := sha256.New()
	for folder := p.Dir; p.Module != nil; folder = filepath.Dir(folder) {
		testdata := filepath.Join(folder, "testdata")
		_ = filepath.WalkDir(testdata, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				text, err := os.ReadFile(name)
				below, _ := filepath.Rel(p.Dir, name)
				fmt.Fprintf(h, "%q %x %t\n", below, sha256.Sum256(text), err == nil)
			}
			return nil
		})
		if folder == p.Module.Dir || folder == filepath.Dir(folder) {
			break
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
