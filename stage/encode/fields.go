package encode

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A layout says what a message's row has: the key, an int8; then fields with columns of their own;
// and last the message, or its remaining fields.
type layout struct {
	types []string // the columns' types in PostgreSQL
	names []string // the JSON names of fields with columns
	// row sets the row of the i-th message, v, which was decoded from data.
	row func(i int, v any, data []byte, row []any) error
}

// ByField, in place of a column's type, asks for a column for each plain field of a message.
const ByField = "fields"

// mostPlain limits the fields with columns: a row of PostgreSQL has no room for many more.
const mostPlain = 256

// byField returns a layout with a column for each plain field of a struct. The last column has the
// other fields as JSON.
func byField[M any]() (layout, error) {
	l := layout{types: []string{"int8"}}
	message := reflect.TypeFor[M]()
	if message.Kind() != reflect.Struct || ownJSON(message) {
		return l, errors.New("its JSON is not that of a struct's fields")
	}
	var plain, others []int
	var stored []reflect.Type
	var rest []reflect.StructField
	for i := range message.NumField() {
		f := message.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		column, as := columnOf(f.Type)
		switch {
		case f.Anonymous:
			return l, fmt.Errorf("it embeds %s", f.Name)
		case !f.IsExported(), f.Tag.Get("json") == "-":
		case column == "" || len(plain) == mostPlain || strings.Contains(options, "string"):
			others, rest = append(others, i), append(rest, f)
		default:
			plain, stored = append(plain, i), append(stored, as)
			l.types, l.names = append(l.types, column), append(l.names, cmp.Or(name, f.Name))
		}
	}
	if len(plain) == 0 {
		return l, errors.New("none of its fields is plain")
	}
	l.types = append(l.types, "jsonb")
	left := reflect.StructOf(rest)
	l.row = func(i int, v any, _ []byte, row []any) (err error) {
		from, to := reflect.ValueOf(v).Elem(), reflect.New(left)
		for k, at := range plain {
			row[1+k] = nil
			if value := reflect.Indirect(from.Field(at)); value.IsValid() {
				row[1+k] = value.Convert(stored[k]).Interface()
			}
		}
		for k, at := range others {
			to.Elem().Field(k).Set(from.Field(at))
		}
		row[0] = int64(i)
		row[len(row)-1], err = json.Marshal(to.Interface())
		return err
	}
	return l, nil
}

// ownJSON reports whether a type makes its JSON itself.
func ownJSON(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// columnOf returns the type of a column for all values of a Go type, "" if there is none, and the Go
// type that is stored there. The column has NULL for a nil pointer.
func columnOf(t reflect.Type) (column string, as reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch zero := reflect.Zero(t); {
	case t == reflect.TypeFor[time.Time]():
		return "timestamptz", t
	case t == reflect.TypeFor[[]byte]():
		return "bytea", t
	case ownJSON(t), t == reflect.TypeFor[json.Number](): // its zero is no number
		return "", nil
	case t.Kind() == reflect.String:
		return "text", reflect.TypeFor[string]()
	case t.Kind() == reflect.Bool:
		return "bool", reflect.TypeFor[bool]()
	case zero.CanInt(), zero.CanUint() && t.Size() < 8:
		return "int8", reflect.TypeFor[int64]()
	case zero.CanFloat():
		return "float8", reflect.TypeFor[float64]()
	}
	return "", nil
}

// whole puts a message together from its row.
func (l *layout) whole(row []any) ([]byte, error) {
	data, _ := row[len(row)-1].([]byte)
	if l.names == nil {
		return data, nil
	}
	var all map[string]json.RawMessage
	err := json.Unmarshal(data, &all)
	for k, name := range l.names {
		value := row[1+k]
		if t, is := value.(time.Time); is { // JSON has no seconds in zones, which cities had before 1900
			value = t.UTC()
		}
		if err == nil {
			all[name], err = json.Marshal(value)
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
