package bench

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"postage/internal/feature/build"
)

// everywhere matches files on which every package may depend, and cSource files that C and assembly
// may include from another folder.
var (
	everywhere = regexp.MustCompile(`\.(mod|sum|work|pgo|syso)$|/vendor/modules\.txt$`)
	cSource    = regexp.MustCompile(`\.([chmsSfF]|cc|cpp|cxx|hh|hpp|hxx|inc|sx)$`)
)

// listed is a package as go list has it.
type listed struct {
	ImportPath, Dir                                      string
	Standard                                             bool
	Module                                               *struct{ Path, Dir string }
	Deps                                                 []string
	CgoFiles, SFiles                                     []string
	EmbedPatterns, TestEmbedPatterns, XTestEmbedPatterns []string
	TestGoFiles, XTestGoFiles                            []string
	Error                                                *struct{ Err string }
}

// leaveSame takes from the new side the packages to whose tests no changed file belongs, and says
// how many. It builds nothing.
func leaveSame(ctx context.Context, now, old *side, changed []string) (said string, err error) {
	var paths []string
	for _, p := range now.packages {
		paths = append(paths, p.Path)
	}
	all, err := goList(ctx, now.code.Source, paths, "-test", "-deps",
		"-json=ImportPath,Dir,Standard,Module,Deps,CgoFiles,SFiles,EmbedPatterns,TestEmbedPatterns,XTestEmbedPatterns")
	if err != nil {
		return "", err
	}
	folders, touched := map[string]string{}, map[string]bool{} // by import path, and by folder
	for _, p := range all {
		folders[p.ImportPath] = p.Dir
		touched[p.Dir] = touched[p.Dir] || !p.Standard && slices.ContainsFunc(changed, p.isOf)
	}
	differ := map[string]bool{}
	for _, p := range all {
		isTouched := func(dep string) bool { return touched[folders[dep]] }
		differ[p.ImportPath] = touched[p.Dir] || slices.ContainsFunc(p.Deps, isTouched) || slices.ContainsFunc(changed, p.reads)
	}
	count := len(now.packages)
	now.packages = slices.DeleteFunc(now.packages, func(p Package) bool { return !differ[p.Path+".test"] })
	if same := count - len(now.packages); same > 0 {
		said = fmt.Sprintf("%d of %d packages are the same code as at %s, and are not measured; --all measures them", same, count, old.code.Revision)
	}
	return said, nil
}

// isOf reports whether a package may be compiled from a file.
func (p *listed) isOf(file string) bool {
	switch {
	case everywhere.MatchString(file):
		return true
	case strings.HasSuffix(file, ".go"):
		return filepath.Dir(file) == p.Dir
	case cSource.MatchString(file) && len(p.CgoFiles)+len(p.SFiles) > 0:
		return true
	}
	below, is := build.Below(p.Dir, file)
	if !is {
		_, within := build.Below(file, p.Dir)
		return within // in a submodule
	}
	for _, pattern := range slices.Concat(p.EmbedPatterns, p.TestEmbedPatterns, p.XTestEmbedPatterns) {
		for part := filepath.ToSlash(below); part != "."; part = path.Dir(part) {
			if matches, _ := path.Match(strings.TrimPrefix(pattern, "all:"), part); matches {
				return true
			}
		}
	}
	return false
}

// reads reports whether a file is in a testdata folder of a package or of a folder above it in its
// module: benchmarks read those.
func (p *listed) reads(file string) bool {
	above, _, is := strings.Cut(filepath.ToSlash(file), "/testdata/")
	if !is || p.Module == nil {
		return false
	}
	_, below := build.Below(filepath.FromSlash(above), p.Dir)
	_, in := build.Below(p.Module.Dir, file)
	return below && in
}
