package encode

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/mailru/easyjson"
	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/encoding/protowire"

	"postage/lab"
	"postage/stage/encode/internal/bind"
)

// Struct returns the cases of a Go struct from the user's code, which the file at config describes,
// and the struct for other stages. The contenders are codecs that take any struct, and the struct's
// own methods. `postage bring` writes a program that calls Struct.
func Struct[T any](config string) (lab.Suite, Traffic) {
	brought := readBrought(config)
	msg := &message[T]{foreign: true, ops: []op{opEncode, opDecode, opKept, opPack}, diff: diffOf[T], read: func(_, _ *T) (uint64, error) { return 0, nil }}
	msg.marshal = func(m *T) ([]byte, error) { return json.Marshal(m) }
	msg.unmarshal = func(data []byte, m *T) error { return json.Unmarshal(data, m) }
	msg.prepare = sync.OnceValue(func() error { return readStructs(msg, brought) })
	return suiteOf(msg, brought, structContenders(msg))
}

// structContenders are the contenders that take a Go struct as it is.
func structContenders[T any](msg *message[T]) []contender[T] {
	form := bind.Form[T, T]{
		From: func(m *T) *T { return m },
		To:   func(v, m *T) error { *m = *v; return nil },
		Read: func(*T, *T) (uint64, error) { return 0, nil },
	}
	list := []contender[T]{
		memcpy(msg),
		jsonStd(form, true),
		jsonStd(form, false),
		jsonV2(form),
		goJSON(form),
		sonicJSON(form, true),
		sonicJSON(form, false),
		cborMaps(form),
		msgPackReflect(form),
		avroBinary(form),
		gobStream(form),
		gobEach(form),
	}
	for _, methods := range ownMethods {
		if methods.has(new(T)) {
			list = append(list, ofStructs(form, codec[T, T]{
				name: "codec=own/method=" + methods.name,
				can:  []op{opEncode, opDecode},
			}, func() (structCodec, error) { return methods.structCodec, nil }))
		}
	}
	return list
}

// A methodPair is two methods by which a type encodes and decodes itself.
type methodPair struct {
	name string // name of the method that encodes
	has  func(v any) bool
	structCodec
}

func pairOf[E, D any](name string, encode func(E) ([]byte, error), decode func(D, []byte) error) methodPair {
	return methodPair{name, func(v any) bool {
		_, encodes := v.(E)
		_, decodes := v.(D)
		return encodes && decodes
	}, structCodec{
		encode: func(_ []byte, v any) ([]byte, error) { return encode(v.(E)) },
		decode: func(data []byte, v any) error { return decode(v.(D), data) },
	}}
}

// The usual names of such methods, for which no library has an interface.
type (
	plainMarshaler   interface{ Marshal() ([]byte, error) }
	plainUnmarshaler interface{ Unmarshal([]byte) error }
	cborMarshaler    interface{ MarshalCBOR() ([]byte, error) }
	cborUnmarshaler  interface{ UnmarshalCBOR([]byte) error }
)

// ownMethods are the methods that a type may have. Methods that libraries would call are called
// directly.
var ownMethods = []methodPair{
	pairOf("Marshal", plainMarshaler.Marshal, plainUnmarshaler.Unmarshal),
	pairOf("MarshalBinary", encoding.BinaryMarshaler.MarshalBinary, encoding.BinaryUnmarshaler.UnmarshalBinary),
	pairOf("MarshalText", encoding.TextMarshaler.MarshalText, encoding.TextUnmarshaler.UnmarshalText),
	pairOf("MarshalJSON", json.Marshaler.MarshalJSON, json.Unmarshaler.UnmarshalJSON),
	pairOf("MarshalEasyJSON",
		func(v easyjson.Marshaler) ([]byte, error) { return easyjson.Marshal(v) },
		func(v easyjson.Unmarshaler, data []byte) error { return easyjson.Unmarshal(data, v) }),
	pairOf("MarshalCBOR", cborMarshaler.MarshalCBOR, cborUnmarshaler.UnmarshalCBOR),
	pairOf("MarshalMsg",
		func(v msgp.Marshaler) ([]byte, error) { return v.MarshalMsg(nil) },
		func(v msgp.Unmarshaler, data []byte) error { _, err := v.UnmarshalMsg(data); return err }),
	pairOf("GobEncode", gob.GobEncoder.GobEncode, gob.GobDecoder.GobDecode),
}

// readStructs reads the samples. Each is JSON, after its place in the user's file.
func readStructs[T any](msg *message[T], brought broughtConfig) error {
	file, err := brought.samples()
	if err != nil {
		return err
	}
	for len(file) > 0 {
		place, n := protowire.ConsumeBytes(file)
		data, m := protowire.ConsumeBytes(file[max(n, 0):])
		if n < 0 || m < 0 {
			return fmt.Errorf("samples: %s is cut off: bring the message again", brought.Samples)
		}
		file = file[n+m:]
		var value T
		if err := json.Unmarshal(data, &value); err != nil {
			return fmt.Errorf("%s: %w", placeOf(string(place), data, err), err)
		}
		msg.samples = append(msg.samples, value)
	}
	return msg.counted()
}

// asMarshalled writes JSON without spaces and with <, > and & escaped, as encoding/json does.
func asMarshalled(data []byte) []byte {
	var compact, escaped bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return data
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	return escaped.Bytes()
}

// placeOf adds the place in a file to an error. The sample begins at "file:line".
func placeOf(place string, data []byte, err error) string {
	var wrong *json.UnmarshalTypeError
	at := strings.LastIndex(place, ":")
	var line int
	if _, scanned := fmt.Sscan(place[at+1:], &line); scanned != nil || !errors.As(err, &wrong) {
		return place
	}
	return fmt.Sprintf("%s:%d", place[:at], line+bytes.Count(data[:min(int(wrong.Offset), len(data))], []byte("\n")))
}

// diffOf names the first value in which two structs differ, "" if none does. Empty and nil slices
// and maps are equal, and so are two NaNs, but not 0 and -0. If a type has an Equal method, it
// decides. A json.RawMessage may differ in spaces and escapes. diffOf compares elements in order:
// a general diff, which aligns lists, can take for ever on nested ones.
func diffOf[T any](got, want *T) string {
	d := differ{visited: map[[2]unsafe.Pointer]bool{}}
	text := d.diff(reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem())
	if text == "" {
		return ""
	}
	return reflect.TypeFor[T]().Name() + text
}

// differences returns diffOf for plain structs. It asks generated code first, because most do not
// differ.
func differences[M any](form bind.Form[M, M]) func(got, want *M) string {
	return func(got, want *M) string {
		if same, _ := form.Same(got, want); same == 1 {
			return ""
		}
		if d := diffOf(got, want); d != "" {
			return d
		}
		return "a value that is empty is not one that is absent"
	}
}

// A differ compares two values.
type differ struct {
	visited map[[2]unsafe.Pointer]bool // pairs of pointers, which may form a cycle
}

// diff returns the path of the first difference and what differs, "" for equal values.
func (d *differ) diff(x, y reflect.Value) string {
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		if !x.IsValid() && !y.IsValid() {
			return ""
		}
		return unlike(x, y)
	}
	isNil := false
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Func:
		if x.IsNil() != y.IsNil() {
			return unlike(x, y)
		}
		isNil = x.IsNil()
	}
	if isNil {
		return ""
	}
	if equal, decides := ownEqual(x, y); decides {
		if equal {
			return ""
		}
		return unlike(x, y)
	}
	if x.Type() == reflect.TypeFor[json.RawMessage]() && bytes.Equal(asMarshalled(x.Bytes()), asMarshalled(y.Bytes())) {
		return ""
	}
	switch x.Kind() {
	case reflect.Pointer:
		pair := [2]unsafe.Pointer{x.UnsafePointer(), y.UnsafePointer()}
		if pair[0] == pair[1] || d.visited[pair] {
			return ""
		}
		d.visited[pair] = true
		return d.diff(x.Elem(), y.Elem())
	case reflect.Interface:
		return d.diff(x.Elem(), y.Elem())
	case reflect.Struct:
		x, y = addressable(x), addressable(y)
		for i := range x.NumField() {
			if text := d.diff(field(x, i), field(y, i)); text != "" {
				return "." + x.Type().Field(i).Name + text
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range max(x.Len(), y.Len()) {
			if text := d.diff(element(x, i), element(y, i)); text != "" {
				return fmt.Sprintf("[%d]%s", i, text)
			}
		}
	case reflect.Map:
		for _, key := range append(x.MapKeys(), y.MapKeys()...) {
			if text := d.diff(x.MapIndex(key), y.MapIndex(key)); text != "" {
				return fmt.Sprintf("[%#v]%s", key, text)
			}
		}
	case reflect.Float32, reflect.Float64:
		a, b := x.Float(), y.Float()
		if math.Float64bits(a) != math.Float64bits(b) && (a == a || b == b) {
			return unlike(x, y)
		}
	default:
		if x.Kind() == reflect.Func || !x.Equal(y) {
			return unlike(x, y)
		}
	}
	return ""
}

// ownEqual calls the values' Equal method, if they have one.
func ownEqual(x, y reflect.Value) (equal, decides bool) {
	if x.NumMethod() == 0 {
		return false, false
	}
	method := x.MethodByName("Equal")
	if !method.IsValid() {
		return false, false
	}
	t := method.Type()
	if t.NumIn() != 1 || t.IsVariadic() || !y.Type().AssignableTo(t.In(0)) || t.NumOut() != 1 || t.Out(0).Kind() != reflect.Bool {
		return false, false
	}
	return method.Call([]reflect.Value{y})[0].Bool(), true
}

// addressable returns v, or a copy of it that has an address.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	addressed := reflect.New(v.Type()).Elem()
	addressed.Set(v)
	return addressed
}

// field returns a field of an addressable struct, also one that is not exported.
func field(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// element returns an element of a slice or an array, the zero Value beyond its end.
func element(v reflect.Value, i int) reflect.Value {
	if i < v.Len() {
		return v.Index(i)
	}
	return reflect.Value{}
}

// unlike describes two values that differ.
func unlike(x, y reflect.Value) string {
	got, want := briefly(x), briefly(y)
	if got == want && x.IsValid() && y.IsValid() {
		got, want = got+" ("+x.Type().String()+")", want+" ("+y.Type().String()+", not the same)"
	}
	return fmt.Sprintf(": got %s, want %s", got, want)
}

// briefly formats a value in at most 40 bytes.
func briefly(v reflect.Value) string {
	if !v.IsValid() {
		return "nothing"
	}
	text := fmt.Sprintf("%+v", v)
	switch v.Kind() {
	case reflect.String:
		text = fmt.Sprintf("%q", v.String())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		if v.Kind() == reflect.Pointer {
			text = "&" + fmt.Sprintf("%+v", v.Elem())
		}
	}
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}
