package profile

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed owners.txt
var ownTable string

// An Owner is a line of the table: who owns a sample.
type Owner struct {
	// Path is a package with all below it; one of its functions; "package.*.Method" for any of its
	// types; or, for generated code, ".Method" or ".Method@end of the file's name".
	Path string
	// Stage is the part of a message's way. It is "other" for a library that has no part in it, and
	// "helper" for a library whose caller owns the sample.
	Stage string
	// Operation is the format, the protocol or the store. If it ends in "*" it is two: decoding and
	// encoding, or reading and writing.
	Operation string
	// Contender measures the library; it is "" if none does. "?" begins the reason why no row measures
	// the function's work.
	Contender string
}

// Stages of libraries that have no part in a message's way.
const (
	helper = "helper"
	other  = "other"
)

// Message reports whether the owner has a part in a message's way.
func (o *Owner) Message() bool { return o.Stage != helper && o.Stage != other && o.Stage != "" }

// Owners is the table.
type Owners struct {
	// Main is the path of the program's own module, "" if it is not known.
	Main   string
	byPath map[string]*Owner
}

// NewOwners reads the table that comes with Postage.
func NewOwners() (*Owners, error) {
	t := &Owners{byPath: map[string]*Owner{}}
	return t, t.Add("owners.txt", strings.NewReader(ownTable))
}

// Add reads further lines: path, stage, operation and contender, which may be missing. "#" begins a
// comment. A line replaces an earlier one with the same path. Errors begin with the name.
func (t *Owners) Add(name string, r io.Reader) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		stages := []string{"encode", "seal", "send", "store", "apply", helper, other}
		if len(fields) > 4 || len(fields) < 2 || !slices.Contains(stages, fields[1]) || len(fields) == 2 && fields[1] != helper {
			return fmt.Errorf("%s:%d: want: path, stage (%s), operation, contender", name, n, strings.Join(stages, ", "))
		}
		fields = append(fields, "", "")
		t.byPath[fields[0]] = &Owner{fields[0], fields[1], fields[2], fields[3]}
	}
	return lines.Err()
}

// line finds the line of a frame, nil if there is none: a generated method's, the function's, the
// package's, or the one of the nearest folder above. named is whether it is the function's.
func (t *Owners) line(f *frame) (o *Owner, named bool) {
	if o := t.byPath["."+f.method]; o != nil {
		return o, false
	}
	_, name, _ := cutLast(f.file, "/")
	for at := strings.IndexAny(name, "._"); at >= 0; at = strings.IndexAny(name, "._") {
		for _, method := range []string{f.method, "*"} {
			if o := t.byPath["."+method+"@"+name[at:]]; o != nil {
				return o, false
			}
		}
		name = name[at+1:]
	}
	for _, function := range []string{f.pkg + "." + f.name, f.pkg + ".*." + f.method} {
		if o := t.byPath[function]; o != nil {
			return o, true
		}
	}
	return t.above(f.pkg), false
}

// above finds the line of a package or of the nearest folder above, nil if there is none.
func (t *Owners) above(path string) *Owner {
	for ; path != ""; path, _, _ = cutLast(path, "/") {
		if o := t.byPath[path]; o != nil {
			return o
		}
	}
	return nil
}

// formats has the operation of each contender that the table names.
func (t *Owners) formats() map[string]string {
	all := map[string]string{firstOnSecond: "JSON", "codec=sonic/config=default": "JSON"}
	for _, o := range t.byPath {
		if strings.HasPrefix(o.Contender, "codec=") {
			all[o.Contender] = strings.TrimSuffix(o.Operation, "*")
		}
	}
	return all
}

// cutLast cuts s around the last sep; before is "" if there is none.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}
