package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"postage/build"
)

// Package is a package whose tests have benchmarks.
type Package struct {
	Path   string   // its import path
	Folder string   // where its sources are, and where its benchmarks run
	Label  string   // its name in rows
	Tops   []string // its benchmark functions: "BenchmarkMarshal"
}

// declared matches the declarations of benchmark functions in a test file.
var declared = regexp.MustCompile(`(?m)^func (Benchmark(?:[^\p{Ll}\s(][^\s(]*)?)\(`)

// Find lists the packages whose tests have benchmarks, among those that the patterns name to a go
// command in that folder. It builds nothing.
func Find(ctx context.Context, folder string, patterns []string) ([]Package, error) {
	text, err := build.Output(ctx, folder, "go", append([]string{"list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Module,Error"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []Package
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
			Module                    *struct{ Path string }
			Error                     *struct{ Err string }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Error != nil && p.Dir == "" {
			return nil, fmt.Errorf("go list %s: %s", p.ImportPath, p.Error.Err)
		}
		found := Package{Path: p.ImportPath, Folder: p.Dir, Label: p.ImportPath}
		if p.Module != nil {
			found.Label = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
			if found.Label == "" {
				found.Label = p.Module.Path[strings.LastIndex(p.Module.Path, "/")+1:]
			}
		}
		found.Label = strings.ReplaceAll(found.Label, "/", ".")
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			for _, m := range declared.FindAllSubmatch(bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n")), -1) {
				found.Tops = append(found.Tops, string(m[1]))
			}
		}
		if len(found.Tops) > 0 {
			packages = append(packages, found)
		}
	}
}
