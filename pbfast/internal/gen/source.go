package gen

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/compiler/protogen"

	pbfastrt "postage/pbfast/runtime"
)

// The run time is in this repository's modules, under whatever path.
var runtime = protogen.GoImportPath(reflect.TypeFor[pbfastrt.Encoder]().PkgPath())

// A source is a Go file being written. protogen's own names an import after its path; ours must not
// have the name of a variable in the generated functions.
type source struct {
	body    strings.Builder
	own     protogen.GoImportPath
	imports map[protogen.GoImportPath]string
}

// locals are the names of parameters, variables and labels in generated functions; those that begin
// with "old" come on top.
var locals = []string{
	"b", "d", "data", "depth", "e", "end", "err", "i", "in", "init", "j", "k", "key", "keys", "l", "last", "m", "n", "need",
	"o", "of", "ok", "out", "p", "part", "s", "size", "slab", "tag", "v", "value", "w",
}

// taken says whether an import cannot have the name.
func (s *source) taken(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	return slices.Contains(locals, name) || strings.HasPrefix(name, "old") || // hidden by variables
		token.IsKeyword(name) || types.Universe.Lookup(name) != nil || name == "_" ||
		strings.HasPrefix(name, "pbfast") || strings.HasPrefix(name, "file_") || unicode.IsUpper(first) || // names in the package
		slices.Contains(slices.Collect(maps.Values(s.imports)), name)
}

// QualifiedGoIdent returns the name of what may be in another package, which is imported then.
func (s *source) QualifiedGoIdent(ident protogen.GoIdent) string {
	if ident.GoImportPath == s.own {
		return ident.GoName
	}
	name, ok := s.imports[ident.GoImportPath]
	if !ok {
		base := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '_'
		}, path.Base(string(ident.GoImportPath)))
		if first, _ := utf8.DecodeRuneInString(base); !unicode.IsLetter(first) {
			base = "_" + base
		}
		name = base
		for n := 0; s.taken(name); n++ {
			name = "im" + base // nothing in the generated code begins so
			if n > 0 {
				name += fmt.Sprint(n)
			}
		}
		s.imports[ident.GoImportPath] = name
	}
	return name + "." + ident.GoName
}

var dollar = regexp.MustCompile(`\$(math\.|proto\.|impl\.)?\w+`)

// e formats as fmt does. $Name in format is what the run time has by that name, $math.Name and so
// on what is in a package of others.
func (s *source) e(format string, args ...any) string {
	format = dollar.ReplaceAllStringFunc(format, func(name string) string {
		pkg, name, other := strings.Cut(name[1:], ".")
		if !other {
			return s.QualifiedGoIdent(runtime.Ident(pkg))
		}
		paths := map[string]protogen.GoImportPath{
			"math": "math", "proto": "google.golang.org/protobuf/proto", "impl": "google.golang.org/protobuf/runtime/protoimpl",
		}
		return s.QualifiedGoIdent(paths[pkg].Ident(name))
	})
	return fmt.Sprintf(format, args...)
}

// f writes what e returns as a line.
func (s *source) f(format string, args ...any) { s.body.WriteString(s.e(format, args...) + "\n") }

// save writes the file, with the lines that stand before its imports.
func (s *source) save(to *protogen.GeneratedFile, head ...string) {
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
