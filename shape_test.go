package postage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of hand-written code, tests apart.
const (
	mostFileLines = 450
	mostFuncLines = 60
	mostFields    = 12
)

// longFuncs are the functions that may be longer: at most ten, and fewer are better.
var longFuncs = []string{
	"cli/doctor.go doctorCommand",
	"internal/bench/overlay.go overlay",
	"internal/bench/profile.go Profile",
	"load/http1answer.go feed",
}

// wideTypes are the types that may have more fields: records, whose fields are figures, and
// configurations, whose fields are settings. A type that does something is neither.
var wideTypes = []string{
	"cli/bench.go benchFlags",
	"cli/loadflags.go loadFlags",
	"internal/bench/same.go listed",
	"internal/bench/set.go Options",
	"internal/history/trend/trend.go Point",
	"internal/report/html.go page",
	"internal/report/jsoncli.go Listed",
	"load/json.go Summary",
	"internal/service/greeter/greeter.go Counters",
	"internal/verdict/analyze.go Result",
	"internal/verdict/changes.go Change",
	"load/load.go Plan",
	"load/target.go Target",
	"pgbulk/options.go UpsertOptions",
	"record/machine.go Machine",
	"record/record.go Row",
	"record/record.go Run",
	"stage/encode/codec.go codec",
	"stage/encode/codec.go message",
	"webpush/declarative.go Notification",
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// A page of docs is a guide, read in one go: tables of evidence and of reference are in folders
// below. The list of modules grows with go.mod.
func TestGuides(t *testing.T) {
	const most = 150
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if n := strings.Count(string(text), "\n"); err != nil || n > most && page != "docs/dependencies.md" {
			t.Errorf("%s has %d lines, want at most %d: %v", page, n, most, err)
		}
	}
}

// Files are small and have one subject, a function fits on a screen, and a type is one idea.
func TestShape(t *testing.T) {
	long, wide := map[string]int{}, map[string]int{}
	for path, lines := range textFiles(t, []string{".go"}) {
		text := strings.Join(lines, "\n")
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") || generated.MatchString(text) {
			continue
		}
		if n := len(lines) - 1; n > mostFileLines {
			t.Errorf("%s has %d lines: a file has one subject, in at most %d", path, n, mostFileLines)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1; lines > mostFuncLines {
					long[path+" "+n.Name.Name] = lines
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && s.Fields.NumFields() > mostFields {
					wide[path+" "+n.Name.Name] = s.Fields.NumFields()
				}
			}
			return true
		})
	}
	if len(longFuncs) > 10 {
		t.Errorf("%d functions may be longer than %d lines: ten at most", len(longFuncs), mostFuncLines)
	}
	compare := func(what string, found map[string]int, allowed []string) {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if !slices.Contains(allowed, name) {
				t.Errorf("%s: %d %s", name, found[name], what)
			}
		}
		for _, name := range allowed {
			if found[name] == 0 {
				t.Errorf("%s is allowed to have more %s, and has not", name, what)
			}
		}
	}
	compare("lines", long, longFuncs)
	compare("fields", wide, wideTypes)
}
