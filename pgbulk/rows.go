package pgbulk

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Rows is a source of rows: see [Values], [Slice], [Structs] and [Fallible]. It is run once for a
// call (but see Options.Retries), in the caller's goroutine. Each row is finished with before the
// next is asked for, so an iterator may yield the same slice again and again. If the iterator
// panics, the rows are undone and the call panics. It must not use the connection that is being
// written to.
type Rows struct {
	columns []string // of a struct
	again   bool     // it can be gone through more than once
	open    func(columns []string) (iter.Seq2[[]any, error], error)
}

// Values are rows as they are: a value for each of the table's columns, in their order. A value is
// anything that pgx encodes for the column's type; nil is NULL.
func Values(rows iter.Seq[[]any]) Rows {
	return Fallible(func(yield func([]any, error) bool) {
		for r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// Slice are rows that are all in memory.
func Slice(rows [][]any) Rows {
	return Fallible(func(yield func([]any, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}).Repeatable()
}

// Fallible are rows whose source may fail. An error that it yields ends the call with that error
// and all rows undone.
func Fallible(rows iter.Seq2[[]any, error]) Rows {
	return Rows{open: func([]string) (iter.Seq2[[]any, error], error) {
		if rows == nil {
			return nil, errors.New("no source of rows")
		}
		return rows, nil
	}}
}

// Structs are rows as structs. A column's value is the exported field whose tag `db:"name"` names
// it, or else whose name is the column's but for case and underscores. A field tagged `db:"-"` is
// left out; an embedded struct's fields count as the struct's own.
func Structs[T any](rows iter.Seq[T]) Rows {
	t := reflect.TypeFor[T]()
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return Rows{open: func([]string) (iter.Seq2[[]any, error], error) {
			return nil, fmt.Errorf("rows of type %v are not structs", t)
		}}
	}
	fields := structFields(t)
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return Rows{columns: names, open: func(columns []string) (iter.Seq2[[]any, error], error) {
		paths := make([][]int, len(columns))
		for i, c := range columns {
			if paths[i] = fieldFor(fields, c); paths[i] == nil {
				return nil, fmt.Errorf("column %q has no field in %v", c, t)
			}
		}
		return func(yield func([]any, error) bool) {
			// One struct and one slice serve all rows. Values of the types that are encoded here
			// are handed on by address, which saves the allocation that putting them in an
			// interface costs.
			var row T
			var v reflect.Value
			values := make([]any, len(paths))
			byAddress := make([]bool, len(paths))
			if !pointer {
				v = reflect.ValueOf(&row).Elem()
				for i, path := range paths {
					switch p := v.FieldByIndex(path).Addr().Interface().(type) {
					case *string, *[]byte, *int, *int16, *int32, *int64, *float32, *float64, *time.Time, *[16]byte, *pgtype.UUID, *pgtype.Numeric:
						values[i], byAddress[i] = p, true
					}
				}
			}
			for row = range rows {
				if pointer {
					if v = reflect.ValueOf(row); v.IsNil() {
						yield(nil, errors.New("the row is a nil pointer"))
						return
					}
					v = v.Elem()
				}
				for i, path := range paths {
					if !byAddress[i] {
						values[i] = v.FieldByIndex(path).Interface()
					}
				}
				if !yield(values, nil) {
					return
				}
			}
		}, nil
	}}
}

type structField struct {
	name   string
	tagged bool
	path   []int
}

// structFields lists the fields that can be columns. Fields behind an embedded pointer are not
// among them: it may be nil.
func structFields(t reflect.Type) []structField {
	var fields []structField
	for f := range visibleFields(t) {
		tag, tagged := f.Tag.Lookup("db")
		name, _, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name, tagged = strings.ToLower(f.Name), false
		}
		fields = append(fields, structField{name, tagged, f.Index})
	}
	return fields
}

func visibleFields(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
	next:
		for _, f := range reflect.VisibleFields(t) {
			if !f.IsExported() {
				continue
			}
			if _, tagged := f.Tag.Lookup("db"); f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct {
				continue // its fields come by themselves
			}
			for i := 1; i < len(f.Index); i++ {
				if outer := t.FieldByIndex(f.Index[:i]); outer.Type.Kind() == reflect.Pointer || outer.Tag.Get("db") != "" {
					continue next
				}
			}
			if !yield(f) {
				return
			}
		}
	}
}

// fieldFor finds a column's field: first by tag, then by name.
func fieldFor(fields []structField, column string) []int {
	for _, f := range fields {
		if f.tagged && f.name == column {
			return f.path
		}
	}
	plain := strings.ReplaceAll(column, "_", "")
	for _, f := range fields {
		if !f.tagged && strings.EqualFold(strings.ReplaceAll(f.name, "_", ""), plain) {
			return f.path
		}
	}
	return nil
}
