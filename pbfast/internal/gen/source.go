package gen

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/compiler/protogen"

	"postage/pbfast/runtime"
)

// packages are what $name.Name is in, where e formats it. The run time is in this repository's
// modules, under whatever path.
var packages = map[string]protogen.GoImportPath{
	"runtime": protogen.GoImportPath(reflect.TypeFor[runtime.Encoder]().PkgPath()),
	"math":    "math",
	"proto":   "google.golang.org/protobuf/proto",
	"impl":    "google.golang.org/protobuf/runtime/protoimpl",
}

// A source is a Go file being written.
type source struct {
	body    strings.Builder
	own     protogen.GoImportPath
	imports map[protogen.GoImportPath]string
}

// QualifiedGoIdent returns the name of what may be in another package, which is imported then.
// protogen's own names an import after its path; ours must not have the name of a variable in the
// generated functions, none of which begins with im and a number.
func (s *source) QualifiedGoIdent(ident protogen.GoIdent) string {
	if ident.GoImportPath == s.own {
		return ident.GoName
	}
	if s.imports[ident.GoImportPath] == "" {
		base := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '_'
		}, path.Base(string(ident.GoImportPath)))
		s.imports[ident.GoImportPath] = fmt.Sprintf("im%d%s", len(s.imports), base)
	}
	return s.imports[ident.GoImportPath] + "." + ident.GoName
}

var dollar = regexp.MustCompile(`\$(math\.|proto\.|impl\.)?\w+`)

// e formats as fmt does. $Name in format is what the run time has by that name, $math.Name and so
// on what is in one of packages.
func (s *source) e(format string, args ...any) string {
	format = dollar.ReplaceAllStringFunc(format, func(name string) string {
		pkg, name, other := strings.Cut(name[1:], ".")
		if !other {
			pkg, name = "runtime", pkg
		}
		s.imports[packages[pkg]] = pkg
		return pkg + "." + name
	})
	return fmt.Sprintf(format, args...)
}

// f writes what e returns as a line.
func (s *source) f(format string, args ...any) { s.body.WriteString(s.e(format, args...) + "\n") }

// save writes the file, with the lines that stand before its imports.
func save(s *source, to *protogen.GeneratedFile, head ...string) {
	for _, line := range head {
		to.P(line)
	}
	to.P("import (")
	for _, path := range slices.Sorted(maps.Keys(s.imports)) {
		to.P(s.imports[path], " ", path)
	}
	to.P(")")
	to.P(s.body.String())
}
