package postage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"postage/stage"
)

// No package above or beside stage knows a stage: none imports one, and no text in its code has a
// stage's name, as rows begin with it or as words have it. Comments may, as examples.
//
// Package claims is left out: what five pages published is about rows of theirs, and naming those
// is its data. So are the libraries and tools, which are below all stages or beside the program.
func TestNobodyKnowsAStage(t *testing.T) {
	var names []string
	for _, suite := range stage.Suites() {
		names = append(names, suite.Stage)
	}
	anyOf := "(" + strings.Join(names, "|") + ")"
	capital := "(" + strings.Join(capitalised(names), "|") + ")"
	named := regexp.MustCompile(`(^|[^A-Za-z])` + capital + `(/|$)|\bstage[ /]` + anyOf + `\b|postage run ` + anyOf + `\b`)
	files := 0
	for _, folder := range []string{"cmd", "cli", "load", "lab", "record", "internal"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && path == filepath.Join("internal", "claims") {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if strings.HasSuffix(path, "test.go") { // recordtest too makes records for tests
				return nil
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && named.MatchString(strings.Trim(text.Value, "\"`")) {
					t.Errorf("%s: %s names a stage", path, text.Value)
				}
				return true
			})
			return nil
		})
		if err != nil && !strings.Contains(err.Error(), "no such file") {
			t.Error(err)
		}
	}
	if files < 50 {
		t.Errorf("looked at %d files only", files)
	}
	for _, text := range []string{"Encode/op=decode", "postage/stage/send", "the stage apply", "Store", "postage run apply"} {
		if !named.MatchString(text) {
			t.Errorf("%q is not found", text)
		}
	}
}

func capitalised(names []string) []string {
	var capital []string
	for _, name := range names {
		capital = append(capital, strings.ToUpper(name[:1])+name[1:])
	}
	return capital
}

// A first look's table of what to use has room for names of 20 characters, and each of them is of
// one case.
func TestSpoken(t *testing.T) {
	const most = 20
	spoken := map[string]string{}
	for _, suite := range stage.Suites() {
		if suite.Figures.Spoken == nil {
			t.Errorf("%s: nothing says what a person calls its cases", suite.Stage)
			continue
		}
		for _, c := range suite.Made(nil) {
			name := suite.Figures.Spoken(c.Name)
			if other := spoken[name]; name != "" && other != "" {
				t.Errorf("%s and %s are both %q", other, c.Name, name)
			}
			if n := utf8.RuneCountInString(name); c.Headline && len(c.First) > 0 && (n == 0 || n > most) {
				t.Errorf("%s is %q, of %d characters, want at most %d", c.Name, name, n, most)
			}
			spoken[name] = c.Name
		}
	}
}
