package encode

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mailru/easyjson"
	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protowire"

	"postage/lab"
	"postage/stage/encode/internal/bind"
)

// Struct returns the cases of a Go struct from the user's code, which the file at config describes,
// and the struct for other stages. The contenders are codecs that take any struct, and the struct's
// own methods. `postage bring` writes a program that calls Struct.
func Struct[T any](config string) (lab.Suite, Traffic) {
	brought := readBrought(config)
	msg := &message[T]{foreign: true, ops: []op{opEncode, opDecode, opPack}, diff: diffOf[T], read: func(_, _ *T) (uint64, error) { return 0, nil }}
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
		msgPackTags(form),
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

// msgPackTags is vmihailenco's msgpack. A field without a msgpack tag has its JSON name.
func msgPackTags[T any](form bind.Form[T, T]) contender[T] {
	return ofStructs(form, codec[T, T]{
		name:     "codec=msgpack",
		module:   "github.com/vmihailenco/msgpack/v5",
		can:      []op{opEncode, opDecode},
		settings: map[string]string{"buffer": "kept", "structs": "maps by field name", "tags": "msgpack, else json"},
	}, func() (structCodec, error) {
		in := bytes.NewReader(nil)
		decoder := msgpack.NewDecoder(in)
		return structCodec{
			encode: intoBuffer(func(w io.Writer) *msgpack.Encoder {
				encoder := msgpack.NewEncoder(w)
				encoder.SetCustomStructTag("json")
				return encoder
			}, ""),
			decode: func(data []byte, v any) error {
				in.Reset(data)
				decoder.Reset(in)
				decoder.SetCustomStructTag("json")
				decoder.UsePreallocateValues(true)
				return decoder.Decode(v)
			},
		}, nil
	})
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
// decides.
func diffOf[T any](got, want *T) string {
	report := &firstDifference{}
	cmp.Equal(got, want, structOptions, cmp.Reporter(report))
	if report.text == "" {
		return ""
	}
	return reflect.TypeFor[T]().Name() + report.text
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

var structOptions = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }),
}

// A firstDifference keeps the first difference that cmp reports.
type firstDifference struct {
	path cmp.Path
	text string
}

func (r *firstDifference) PushStep(step cmp.PathStep) { r.path = append(r.path, step) }
func (r *firstDifference) PopStep()                   { r.path = r.path[:len(r.path)-1] }

func (r *firstDifference) Report(result cmp.Result) {
	if result.Equal() || r.text != "" {
		return
	}
	var at strings.Builder
	for _, step := range r.path {
		switch step := step.(type) {
		case cmp.StructField:
			at.WriteString("." + step.Name())
		case cmp.MapIndex, cmp.SliceIndex:
			at.WriteString(step.String())
		}
	}
	x, y := r.path.Last().Values()
	got, want := briefly(x), briefly(y)
	if got == want && x.IsValid() && y.IsValid() {
		got, want = got+" ("+x.Type().String()+")", want+" ("+y.Type().String()+", not the same)"
	}
	r.text = fmt.Sprintf("%s: got %s, want %s", at.String(), got, want)
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
