package codegen

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A declaration is a line in a contender's file that says how its rows are made of a message's kit
// k, because they need a type that is generated for the message:
//
//	//encodegen:rows PART NAME: EXPRESSION, ...
//
// PART is a part that a brought message may lack (see parts), or - if none is needed. If the part is
// lost, the row NAME says why.
type declaration struct{ File, Part, Name, Rows string }

var declared = regexp.MustCompile(`(?m)^//encodegen:rows (\S+) (\S+): (.*)$`)

// declarations finds them in the stage's files.
func declarations(tree string) ([]declaration, error) {
	files, err := filepath.Glob(filepath.Join(tree, "stage", "encode", "*.go"))
	if err != nil {
		return nil, err
	}
	var all []declaration
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			all = append(all, declaration{strings.TrimSuffix(filepath.Base(path), ".go"), m[1], m[2], m[3]})
		}
	}
	return all, nil
}

// writeRows writes rows_gen.go.
func writeRows(s *schema, dir string) error {
	all, err := declarations(s.tree)
	if err != nil {
		return err
	}
	return page{schema: s, Rows: all}.write(filepath.Join(dir, "rows_gen.go"), "encode", "rows", s.module+"bind", s.module+"plain")
}
