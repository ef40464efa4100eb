package bring

import (
	"encoding/json"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// outer and what it holds have each way in which encoding/json names a field.
type outer struct {
	Plain  int
	Named  int `json:"named,omitempty"`
	Hidden int `json:"-"`
	dashed int
	*Inner
	Inner2 `json:"other"`
	Map    map[string][]Inner
	Text   *stamp
	Any    any
	Self   []outer
	Loop   loop
}

type (
	Inner  struct{ Deep int }
	Inner2 struct{ Deeper int }
	stamp  struct{ At int }
	loop   []loop
)

func (s *stamp) UnmarshalJSON([]byte) error { return nil }

// What is unknown to goMembers is what encoding/json finds unknown, and nothing else.
func TestUnknownFieldsOfGoStructs(t *testing.T) {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps, Tests: true}, ".")
	if err != nil {
		t.Fatal(err)
	}
	var typ types.Type
	for _, pkg := range list {
		if object := pkg.Types.Scope().Lookup("outer"); object != nil {
			typ = object.Type()
		}
	}
	if typ == nil {
		t.Fatal("outer is in no package")
	}
	for raw, want := range map[string]string{
		`{"Plain": 1, "PLAIN": 2, "named": 3, "Deep": 4}`: "",
		`{"Named": 1, "Hidden": 1}`:                       "Hidden",
		`{"dashed": 1, "Inner": {}}`:                      "dashed Inner",
		`{"other": {"Deeper": 1, "Deep": 1}}`:             "other.Deep",
		`{"Map": {"k": [{"Deep": 1}, {"x": [{}]}]}}`:      "Map.k[1].x",
		`{"Text": {"x": 1}, "Any": {"x": 1}}`:             "",
		`{"Self": [{"Self": [{"Plain": 1, "x": "}"}]}]}`:  "Self[0].Self[0].x",
		`{"Loop": [[[]]]}`:                                "",
	} {
		got := unknownJSON([]byte(raw), goMembers(typ))
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		decoder := json.NewDecoder(strings.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&outer{dashed: 1}); (err != nil) != (want != "") {
			t.Errorf("%s: encoding/json says %v, want unknown: %q", raw, err, want)
		}
	}
}

func only(t *testing.T, file string) protoreflect.MessageDescriptor {
	t.Helper()
	schema, err := load(t, file)
	if err != nil {
		t.Fatal(err)
	}
	md, err := schema.Message("")
	if err != nil {
		t.Fatal(err)
	}
	return md
}

// What does not fit is told with its line and path, in whatever form the sample comes.
func TestSamplesThatDoNotFit(t *testing.T) {
	md := only(t, `syntax = "proto2"; package x;
		message M { optional int32 a = 1; repeated M ms = 2; map<string, M> named = 3; optional string text = 4; extensions 100 to 199; }
		extend M { optional string note = 100; }`)
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"deep.ndjson":  {"{}\n{\"a\": 1,\n \"text\": \"é\", \"ms\": [{}, {\"named\": {\"k\": {\"a\": \"five\"}}}]}", "deep.ndjson:3: ms[1].named.k.a does not fit x.M: invalid value for int32"},
		"unknown.json": {`{"nope": 1, "ms": [{"a": []}]}`, "unknown.json:1: ms[0].a does not fit x.M: "},
		"top.json":     {`"five"`, "top.json:1: the sample does not fit x.M: "},
		"bytes.binpb":  {"\x08", "bytes.binpb does not fit x.M: proto: cannot parse"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := new(Schema).ReadSamples([]string{path}, "", md, n)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), filepath.Dir(path)+string(filepath.Separator)), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Unknown fields are counted, in one sample and in more.
func TestUnknownFieldsAreCounted(t *testing.T) {
	md := only(t, `syntax = "proto3"; package x; import "google/protobuf/struct.proto"; message M { int32 a_b = 1; repeated M ms = 2; google.protobuf.Struct any = 3; }`)
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.ndjson")
	for text, want := range map[string]string{
		`{"aB": 1, "ms": [{"a_b": 2}], "any": {"x": {"y": 1}}}`:    "",
		"{}\n" + `{"aB": 1, "ms": [{"x": 2, "y": {"a": 1}}]}`:      "in 1 sample, the first at " + path + ":2: ms[0].x, unknown fields are dropped",
		`{"x": 1} {}` + "\n" + `{"ms": [{"x": 2}, {"any": null}]}`: "in 2 samples, the first at " + path + ":1: x, unknown fields are dropped",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		samples, err := new(Schema).ReadSamples([]string{path}, "", md, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := samples.String(); !strings.HasSuffix(got, want) || want == "" && strings.Contains(got, "unknown") {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
}
