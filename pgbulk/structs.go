package pgbulk

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Structs are rows as structs. A column's value is the exported field whose tag `db:"name"` names
// it, or else whose name is the column's but for case and underscores. A field tagged `db:"-"` is
// left out; an embedded struct's fields count as the struct's own, and an embedded pointer to one is
// an error. Where Go cannot tell two fields apart by their names, neither is a column's.
//
// A field tagged `db:"name,omitzero"` whose value is zero, as encoding/json means it, is [Default]:
// a new row gets the column's DEFAULT, and Upsert does not set the column of a row that exists.
func Structs[T any](rows iter.Seq[T]) Source {
	fields, err := structsOf(reflect.TypeFor[T]())
	source := newSource(func(columns []string) (iter.Seq2[[]any, error], error) {
		values, err := valuesOf[T](fields, columns)
		if err != nil {
			return nil, err
		}
		if rows == nil {
			return nil, errNoSource
		}
		return func(yield func([]any, error) bool) {
			for row := range rows {
				if v, err := values(row); !yield(v, err) || err != nil {
					return
				}
			}
		}, nil
	})
	source.structs, source.err = fields, err
	return source
}

// valuesOf returns what gives a struct's values for columns, always in the same slice. Values of
// the types that are encoded here are handed on by address, which saves the allocation that putting
// them in an interface costs.
func valuesOf[T any](fields *structs, columns []string) (func(T) ([]any, error), error) {
	paths, omit := make([][]int, len(columns)), make([]bool, len(columns))
	for i, c := range columns {
		f := fields.fieldFor(c)
		if f == nil {
			return nil, fmt.Errorf("column %q has no field in %v", c, fields.typ)
		}
		paths[i], omit[i] = f.path, f.omitzero
	}
	row := new(T)
	v := reflect.ValueOf(row).Elem()
	pointer := v.Kind() == reflect.Pointer
	values, byAddress := make([]any, len(paths)), make([]bool, len(paths))
	for i, path := range paths {
		if pointer || omit[i] {
			continue
		}
		switch p := v.FieldByIndex(path).Addr().Interface().(type) {
		case *string, *[]byte, *int, *int16, *int32, *int64, *float32, *float64, *time.Time, *[16]byte, *pgtype.UUID, *pgtype.Numeric:
			values[i], byAddress[i] = p, true
		}
	}
	return func(given T) ([]any, error) {
		*row = given
		at := v
		if pointer {
			if v.IsNil() {
				return nil, errors.New("the row is a nil pointer")
			}
			at = v.Elem()
		}
		for i, path := range paths {
			if byAddress[i] {
				continue
			}
			field := at.FieldByIndex(path)
			values[i] = field.Interface()
			if omit[i] && isZero(field) {
				values[i] = Default
			}
		}
		return values, nil
	}, nil
}

// isZero reports whether a field is zero as encoding/json's omitzero means it.
func isZero(field reflect.Value) bool {
	if z, ok := field.Interface().(interface{ IsZero() bool }); ok && (field.Kind() != reflect.Pointer || !field.IsNil()) {
		return z.IsZero()
	}
	return field.IsZero()
}

// structs are the fields of a struct that can be columns.
type structs struct {
	typ    reflect.Type
	fields []structField
}

type structField struct {
	name     string // its tag's, or its own
	tagged   bool
	omitzero bool
	path     []int
}

// structsOf lists the fields of a struct, or of what a pointer points to, as Go sees them. A tag, if
// there is one, has the name. Within an embedded struct that has a tag there are none.
func structsOf(t reflect.Type) (*structs, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("rows of type %v are not structs", t)
	}
	s := &structs{typ: t}
	var closed [][]int // paths of fields whose own fields are not looked at
	for _, f := range reflect.VisibleFields(t) {
		if slices.ContainsFunc(closed, func(p []int) bool { return len(p) < len(f.Index) && slices.Equal(p, f.Index[:len(p)]) }) {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("db"), ",")
		embeds := f.Anonymous && f.Tag.Get("db") == ""
		if embeds && f.Type.Kind() == reflect.Struct {
			continue // its fields follow
		}
		closed = append(closed, f.Index)
		switch {
		case name == "-" || !f.IsExported():
			continue
		case embeds && f.Type.Kind() == reflect.Pointer:
			return nil, fmt.Errorf("field %s of %v is an embedded pointer: embed the struct itself, or tag the field `db:\"-\"`", f.Name, t)
		case option != "" && option != "omitzero":
			return nil, fmt.Errorf("field %s of %v: option %q of its db tag is not known: the only one is omitzero", f.Name, t, option)
		}
		s.fields = append(s.fields, structField{name: cmp.Or(name, f.Name), tagged: name != "", omitzero: option == "omitzero", path: f.Index})
	}
	return s, nil
}

// fold is a name without what does not tell fields from columns.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// fieldFor finds a column's field, or nil: first by tag, then by name.
func (s *structs) fieldFor(column string) *structField {
	for i, f := range s.fields {
		if f.tagged && f.name == column {
			return &s.fields[i]
		}
	}
	for i, f := range s.fields {
		if !f.tagged && fold(f.name) == fold(column) {
			return &s.fields[i]
		}
	}
	return nil
}

// columnsOf are the columns of a table that the fields are, in the table's order.
func (s *structs) columnsOf(table []string) (columns []string, paths [][]int, err error) {
	column := map[*structField]string{}
	for _, c := range table {
		f := s.fieldFor(c)
		if f == nil {
			continue
		}
		if other, again := column[f]; again {
			return nil, nil, fmt.Errorf("field %s of %v can be column %q or %q: give it a db tag", s.nameOf(f), s.typ, other, c)
		}
		column[f] = c
		columns, paths = append(columns, c), append(paths, f.path)
	}
	for i := range s.fields {
		if _, has := column[&s.fields[i]]; !has {
			return nil, nil, fmt.Errorf("field %s of %v has no column in the table", s.nameOf(&s.fields[i]), s.typ)
		}
	}
	return columns, paths, nil
}

// omitting are the columns whose fields are tagged omitzero.
func (s *structs) omitting(columns []string) (omitted []string) {
	if s == nil {
		return nil
	}
	for _, c := range columns {
		if f := s.fieldFor(c); f != nil && f.omitzero {
			omitted = append(omitted, c)
		}
	}
	return omitted
}

func (s *structs) nameOf(f *structField) string { return s.typ.FieldByIndex(f.path).Name }
