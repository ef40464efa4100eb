package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"postage/internal/feature/build"
)

// Package is a package whose tests have benchmarks.
type Package struct {
	Path   string   // its import path
	Folder string   // where its sources are, and where its benchmarks run
	Label  string   // its name in rows
	Tops   []string // its benchmark functions, as they are declared: "BenchmarkMarshal"
}

// declared matches the declarations of benchmark functions in a test file.
var declared = regexp.MustCompile(`(?m)^func (Benchmark(?:[^\p{Ll}\s(][^\s(]*)?)\(`)

// majorVersion ends a module's path, and says nothing about what is in it.
var majorVersion = regexp.MustCompile(`[./]v[0-9]+$`)

// apart gives packages with the same label their whole path, with a colon, which no path has.
func apart(packages []Package) []Package {
	with := map[string]int{}
	for _, p := range packages {
		with[p.Label]++
	}
	for i := range packages {
		if p := &packages[i]; with[p.Label] > 1 {
			p.Label = strings.ReplaceAll(p.Path, "/", ":")
		}
	}
	return packages
}

// Find lists the packages whose tests have benchmarks, among those that the patterns name to a go
// command in the source's folder. It leaves out packages that an old
// revision lacks. It builds nothing.
func Find(ctx context.Context, source *build.Source, patterns []string, old bool) ([]Package, error) {
	all, err := goList(ctx, source, patterns, "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Module,Error")
	var packages []Package
	for _, p := range all {
		if p.Error != nil && p.Dir == "" && old {
			continue
		} else if p.Error != nil && p.Dir == "" {
			return nil, fmt.Errorf("go list %s: %s", p.ImportPath, p.Error.Err)
		}
		found := Package{Path: p.ImportPath, Folder: p.Dir, Label: p.ImportPath}
		if p.Module != nil {
			found.Label = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
			if found.Label == "" {
				found.Label = path.Base(majorVersion.ReplaceAllString(p.Module.Path, ""))
			}
		}
		found.Label = strings.ReplaceAll(found.Label, "/", ".")
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			for _, m := range declared.FindAllSubmatch(source, -1) {
				if top := string(m[1]); !slices.Contains(found.Tops, top) {
					found.Tops = append(found.Tops, top)
				}
			}
		}
		if len(found.Tops) > 0 {
			packages = append(packages, found)
		}
	}
	return apart(packages), err
}

// goList is what go list says of packages, one that cannot be built too.
func goList(ctx context.Context, source *build.Source, patterns []string, flags ...string) (all []listed, err error) {
	text, err := source.Output(ctx, "go", slices.Concat([]string{"list", "-e"}, flags, patterns)...)
	for decoder := json.NewDecoder(strings.NewReader(text)); err == nil && decoder.More(); {
		var p listed
		if err = decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	return all, err
}
