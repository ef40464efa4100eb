package profile

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

//go:embed owners.txt
var ownTable string

// An Owner is a line of the table: who owns a sample.
type Owner struct {
	// Path is a package with all below it, one of its functions, "package.*.Method" of any of its
	// types, or ".Method", ".Method@end of the file's name", of generated code.
	Path string
	// Stage is the part of a message's way, "other" for a library that has no part in it, or
	// "helper" for one whose caller owns the sample.
	Stage string
	// Operation is the format, the protocol or the store. One that ends in "*" is two: decoding and
	// encoding, or reading and writing what is sent.
	Operation string
	// Contender is what measures the library, "" if nothing does; with "~" before it, it is of
	// another library that works alike; with "/" behind it, a way to use what the function calls;
	// "?" and why for a function whose work is not what is measured.
	Contender string
}

// helper and other are stages that are none.
const (
	helper = "helper"
	other  = "other"
)

// Message says whether the owner is a part of a message's way.
func (o *Owner) Message() bool { return o.Stage != helper && o.Stage != other && o.Stage != "" }

// Owners is a table of them.
type Owners struct{ byPath map[string]*Owner }

// NewOwners is the table that Postage brings.
func NewOwners() (*Owners, error) {
	t := &Owners{byPath: map[string]*Owner{}}
	return t, t.Add("owners.txt", strings.NewReader(ownTable))
}

// Add reads further lines: path, stage, operation and contender, which may be missing. "#" begins a
// comment. The line of a path that is there already takes its place.
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

// of is the line that a frame belongs to, nil if there is none: a generated method, a function, its
// package, or the nearest folder above; and whether it is the function's own.
func (t *Owners) of(f *frame) (o *Owner, named bool) {
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

// above is the line of a package or of the nearest folder above, nil if there is none.
func (t *Owners) above(path string) *Owner {
	for ; path != ""; path, _, _ = cutLast(path, "/") {
		if o := t.byPath[path]; o != nil {
			return o
		}
	}
	return nil
}

// formats are the operations by contender, of those that the table names.
func (t *Owners) formats() map[string]string {
	all := map[string]string{uncompressed: "plain", firstOnSecond: "JSON", intoAny + firstOnSecond: "JSON"}
	for _, o := range t.byPath {
		if o.Contender != "" && !strings.HasPrefix(o.Contender, alike) && !strings.HasSuffix(o.Contender, "/") && !strings.HasPrefix(o.Contender, unmeasured) {
			all[o.Contender] = strings.TrimSuffix(o.Operation, "*")
		}
	}
	plain := maps.Clone(all)
	for _, o := range t.byPath {
		for contender, format := range plain {
			if strings.HasSuffix(o.Contender, "/") && format == strings.TrimSuffix(o.Operation, "*") {
				all[o.Contender+contender] = format
			}
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
