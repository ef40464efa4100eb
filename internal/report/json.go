package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"postage/internal/verdict"
)

// JSON is a stable interface (docs/json.md), and says of each value whether it is known: what is
// not is null, never 0, and never missing. The tags of the types that are analysed and printed name
// their fields. Three things differ from package encoding/json:
//
//  1. A field that the tag omits where it is empty is null there. So is a number that is not
//     finite, and the bounds of an interval that has none.
//  2. A field without a tag is not written, and a list or a map of texts is never null.
//  3. HTML characters stand as they are.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(knownOf(reflect.ValueOf(v)))
}

// knownOf is a value for encoding/json that has null for what is not known.
func knownOf(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339)
	case json.RawMessage:
		return x
	case verdict.Interval:
		v = reflect.ValueOf(withBounds(x))
	case verdict.Comparison:
		x.Interval = withBounds(x.Interval)
		v = reflect.ValueOf(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return knownOf(v.Elem())
	case reflect.Float64:
		if x := v.Float(); math.IsInf(x, 0) || math.IsNaN(x) {
			return nil
		}
	case reflect.Slice, reflect.Array:
		list := []any{}
		for i := range v.Len() {
			list = append(list, knownOf(v.Index(i)))
		}
		return list
	case reflect.Map:
		if v.IsNil() && v.Type().Elem().Kind() != reflect.String {
			return nil
		}
		values := map[string]any{}
		for _, key := range v.MapKeys() {
			values[key.String()] = knownOf(v.MapIndex(key))
		}
		return values
	case reflect.Struct:
		var o object
		for _, f := range fieldsOf(v.Type()) {
			field, value := v.FieldByIndex(f.Index), any(nil)
			if !f.null || !field.IsZero() {
				value = knownOf(field)
			}
			o = append(o, member{f.name, value})
		}
		return o
	}
	return v.Interface()
}

// withBounds is an interval whose bounds are infinite where there are too few blocks for them.
func withBounds(i verdict.Interval) verdict.Interval {
	if !i.Bounded() {
		i.Low, i.High = math.Inf(-1), math.Inf(1)
	}
	return i
}

// field is a field of an object, and whether it is null where it is empty.
type field struct {
	reflect.StructField
	name string
	null bool
}

// fieldsOf are those that a struct is written with, in order.
func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			// The bounds of an interval are null where they are infinite.
			null := strings.HasPrefix(options, "omit")
			fields = append(fields, field{f, name, null && f.Type.Kind() != reflect.Map && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Float64})
		}
	}
	return fields
}

// object keeps the order of its members.
type (
	object []member
	member struct {
		name  string
		value any
	}
)

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encoder.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
