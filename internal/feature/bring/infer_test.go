package bring

import (
	"errors"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// inferred is the schema of a JSON text, and its samples as the rewritten message has them in JSON.
func inferred(t *testing.T, text string) (*Schema, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "order-lines.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Infer(path, "", false)
	if err != nil {
		return nil, nil, errors.New(strings.ReplaceAll(err.Error(), path, "FILE"))
	}
	md, err := s.Message("")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Normalise(md)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := s.ReadSamples([]string{path}, "", md, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples.lossy) > 0 {
		t.Errorf("fields of %s are dropped", text)
	}
	var reread []string
	for _, data := range samples.kept {
		m := dynamicpb.NewMessage(n.Message)
		if err := proto.Unmarshal(data.data, m); err != nil {
			t.Fatal(err)
		}
		json, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		reread = append(reread, strings.ReplaceAll(string(json), " ", ""))
	}
	return s, reread, nil
}

// The schemas that samples in JSON alone give.
func TestInfer(t *testing.T) {
	s, _, err := inferred(t, `{"n": 1, "d": 2, "s": "x", "b": true, "list": [1, 2], "o": {"x": null}, "m": {"http.method": "GET"}, "none": []}
{"d": 2.5, "list": [], "o": {"y": 12345678901234567890}}`)
	if err != nil {
		t.Fatal(err)
	}
	md, _ := s.Message("")
	got := map[string]string{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		got[fd.JSONName()] = fmt.Sprint(fd.Cardinality(), " ", fd.Kind(), " ", fd.IsMap())
	}
	for name, want := range map[string]string{
		"n": "optional int64 false", "d": "optional double false", "s": "optional string false", "b": "optional bool false",
		"list": "repeated int64 false", "o": "optional message false", "m": "repeated message true", "none": "repeated string false",
	} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if md.Name() != "OrderLines" {
		t.Errorf("the message is %s", md.Name())
	}
	if kind := md.Fields().ByName("o").Message().Fields().ByName("y").Kind(); kind != protoreflect.Uint64Kind {
		t.Errorf("a number over int64 is %v", kind)
	}
	for text, want := range map[string]string{
		`7`:                       "FILE:1: a sample must be an object, not a number",
		"[{}]\n[[]]":              "FILE:2: a sample must be an object, not a list",
		``:                        "FILE: there are no samples in it",
		"{\"a\": 1}\n{\"b\": [1,": "FILE:2: the file ends within a value: is it cut off?",
		"[{\"a\": 1},\n":          "FILE:2: the file ends within a value: is it cut off?",
		"{\"a\": 1}\n{\"a\" 1}":   "FILE:2: invalid character '1' after object key",
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300): "FILE:1: objects and lists are more than 200 deep",
	} {
		if _, _, err := inferred(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A null in the place of an element that needs a message is refused, as in a number's place.
func TestInferNullElsewhere(t *testing.T) {
	for text, other := range map[string]string{
		`{"a": [1]}`:               `{"a": [null]}`,
		`{"a": [{"b": 1}]}`:        `{"a": [null]}`,
		`{"a": [[1]]}`:             `{"a": [null]}`,
		`{"m": {"a-1": {"b": 1}}}`: `{"m": {"a-1": null}}`,
	} {
		s, _, err := inferred(t, text)
		if err != nil {
			t.Fatal(err)
		}
		md, _ := s.Message("")
		n, err := Normalise(md)
		path := filepath.Join(t.TempDir(), "other.json")
		if err := errors.Join(err, os.WriteFile(path, []byte(other), 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadSamples([]string{path}, "", md, n); err == nil || !strings.Contains(err.Error(), " is null here, and ") {
			t.Errorf("%s beside %s: %v", other, text, err)
		}
	}
}

// What no schema expresses is kept as JSON text or in a message, and said.
func TestInferWhatNoSchemaExpresses(t *testing.T) {
	for text, want := range map[string]struct{ note, back string }{
		"{\"a\": 1}\n{\"a\": \"x\"}":                 {"a (a number at line 1, a string at line 2): kept as JSON text", `{"a":"1"}` + `{"a":"\"x\""}`},
		`{"o": {"list": [{"x": true}, {"x": 1}]}}`:   {"o.list[].x (a boolean at line 1, a number at line 1): kept as JSON text", `{"o":{"list":[{"x":"true"},{"x":"1"}]}}`},
		`{"a": [[1, 2.5], [3]]}`:                     {"a[]: in a message each", `{"a":[{"items":[1,2.5]},{"items":[3]}]}`},
		`{"a": [null, {"b": 1}]}`:                    {"a (null among its elements at line 1): kept as JSON text", `{"a":"[null,{\"b\":1}]"}`},
		"{\"a\": [1]}\n{\"a\": null}\n{\"a\": 1}":    {"a (a list at line 1, a number at line 3): kept as JSON text", `{"a":"[1]"}{}{"a":"1"}`},
		`{"n": -1, "a": [-1, 18446744073709551615]}`: {"a[] (numbers that neither a double nor an integer holds): kept as JSON text", `{"n":"-1","a":["-1","18446744073709551615"]}`},
		`{"a": [9007199254740993, 1.5]}`:             {"a[] (numbers that neither a double nor an integer holds): kept as JSON text", `{"a":["9007199254740993","1.5"]}`},
		`{"a": 123456789012345678901234567890}`:      {"a (numbers that neither a double nor an integer holds): kept as JSON text", `{"a":"123456789012345678901234567890"}`},
		`{"by-id": {"a-1": [1], "a-2": []}}`:         {"by-id.*: in a message each", `{"by-id":{"a-1":{"items":["1"]},"a-2":{}}}`},
	} {
		s, reread, err := inferred(t, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if strings.Join(s.Notes, "\n") != want.note || strings.Join(reread, "") != want.back {
			t.Errorf("%s: %q, %s; want %q, %s", text, s.Notes, reread, want.note, want.back)
		}
	}
}

// Times, UUIDs and enums are text, which is said, or on demand types that hold the same.
func TestInferTypes(t *testing.T) {
	text := ""
	for i := range 12 {
		text += fmt.Sprintf(`{"at": "2026-01-02T03:04:%02d.5Z", "id": "0b1e2f3a-0000-4000-8000-00000000000%x", "state": "%s", "tags": ["OPEN"], "name": "n %d"}`+"\n", i, i, []string{"OPEN", "paid_late"}[i%2], i)
	}
	path := documents(t, "orders.ndjson", text)
	s, err := Infer(path, "", false)
	if err != nil || len(s.Notes) != 1 || s.Notes[0] != "at (time); id (uuid); state (enum); and 1 more: kept as text: with --typed they have types" {
		t.Errorf("%v: %q", err, s.Notes)
	}
	sizes := map[bool]int{}
	for _, typed := range []bool{false, true} {
		s, err := Infer(path, "", typed)
		if err != nil {
			t.Fatal(err)
		}
		md, err := s.Message("")
		if err != nil {
			t.Fatal(err)
		}
		n, err := Normalise(md)
		if err != nil {
			t.Fatal(err)
		}
		samples, err := s.ReadSamples([]string{path}, "", md, n)
		if err != nil {
			t.Fatal(err)
		}
		sizes[typed] = len(samples.kept[1].data)
		if !typed {
			continue
		}
		m := dynamicpb.NewMessage(n.Message)
		if err := proto.Unmarshal(samples.kept[1].data, m); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(protojson.MarshalOptions{}.Format(m), " ", "")
		if want := `{"at":{"seconds":"1767323041","nanos":500000000},"id":"Cx4vOgAAQACAAAAAAAAAAQ==","state":"`; !strings.HasPrefix(got, want) || !strings.Contains(got, "paid_late") {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if sizes[true]*2 > sizes[false]+20 {
		t.Errorf("%d bytes with types, %d as text", sizes[true], sizes[false])
	}
}

// A file that cannot be brought is told by its kind, with what to do.
func TestForeign(t *testing.T) {
	for name, want := range map[string]string{
		"a.json.gz": "compressed by gzip: gunzip -k", "a.har": "archive of requests, in JSON: cp", "a.yaml": "YAML: yq -o=json", "a.log": "a log: if its lines are JSON: grep", "a.avsc": "schema of Avro: bring JSON",
	} {
		if err := Foreign(documents(t, name, "{}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := Foreign(documents(t, "a.json", "\xff\xfe{\x00}\x00")); err == nil || !strings.Contains(err.Error(), "UTF-16: iconv") {
		t.Error(err)
	}
	if err := Foreign(documents(t, "a.json", "{}")); err != nil {
		t.Error(err)
	}
}

// What decoding loses is said, with the first place of each kind.
func TestLossesAreSaid(t *testing.T) {
	path := documents(t, "a.ndjson", "{\"a\": 1}\n{\"a\": [{\"b\": 1, \"b\": 2}]}\n{\"a\": \"caf\xe9\", \"a\": 1}\n")
	samples, err := (&GoStruct{typ: types.NewStruct(nil, nil)}).ReadJSON([]string{path}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in 2 samples, the first at " + path + ":2: /a/0/b, a key is twice", "in 1 sample, the first at " + path + ":3: /a, text is not UTF-8"} {
		if !strings.Contains(samples.String(), want) {
			t.Errorf("%s is not in: %s", want, samples)
		}
	}
}

// A dictionary at the root is a map, as under a key.
func TestInferDictionary(t *testing.T) {
	var text strings.Builder
	for i := range 1264 {
		fmt.Fprintf(&text, `, "key%d": {"name": "n", "age": %d}`, i, i)
	}
	s, reread, err := inferred(t, "{"+text.String()[1:]+"}")
	if err != nil {
		t.Fatal(err)
	}
	md, _ := s.Message("")
	if n := md.Fields().Len(); n != 1 || !md.Fields().Get(0).IsMap() || strings.Count(reread[0], `"age"`) != 1264 {
		t.Errorf("it has %d fields, and the sample %d values", n, strings.Count(reread[0], `"age"`))
	}
}

// Keys and forms of file that are odd, and yet JSON.
func TestInferOddJSON(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff{\"a\": 1}": `{"a":"1"}`,
		"[{\"a\": 1}]\n[{\"a\": 2}, {\"a\": 3}]{\"a\": 4}": `{"a":"1"}{"a":"2"}{"a":"3"}{"a":"4"}`,
		`{"+1": 1, "-1": "x", "x1": true}`:                 `{"+1":"1","-1":"x","x1":true}`,
		`{"[x]": 1, "a b": 2, "@type": "t"}`:               `{"[x]":"1","ab":"2","@type":"t"}`,
		`{"a,b": 1, "": true, "\"": 2}`:                    `{"a_b":"1","x":true,"xx":"2"}`,
		`{"k8s_name": "n", "sha256sum": "s"}`:              `{"k8s_name":"n","sha256sum":"s"}`,
		`{"paths": {"/a": {"get": 1}, "/b": {"put": 2}}}`:  `{"paths":{"/a":{"get":"1"},"/b":{"put":"2"}}}`,
	} {
		s, reread, err := inferred(t, text)
		if err != nil || strings.Join(reread, "") != want || len(s.Notes) > 0 {
			t.Errorf("%s: %s, %v; want %s", text, reread, err, want)
		}
	}
}

// A document of very many types is refused.
func TestInferManyTypes(t *testing.T) {
	var text strings.Builder
	objects := 0
	var object func(depth int)
	object = func(depth int) {
		objects++
		fmt.Fprintf(&text, `{"n%d": 1`, objects)
		if depth < 6 {
			for _, key := range []string{"a", "b", "c"} {
				fmt.Fprintf(&text, `, %q: `, key)
				object(depth + 1)
			}
		}
		text.WriteString("}")
	}
	object(0)
	if _, _, err := inferred(t, text.String()); err == nil || !strings.Contains(err.Error(), "objects of 1093 kinds, at most 200: name a part") {
		t.Error(err)
	}
}

// Objects of the same fields are one type, wherever they are: a Kubernetes Pod has fewer than 200.
func TestInferEqualObjectsAreOneType(t *testing.T) {
	s, reread, err := inferred(t, `{"a": {"x": {"n": 1}}, "list": [{"n": 2}], "by": {"k-1": {"n": 3}}, "other": {"n": "4"}, "x": {"n": 5, "m": 6}}`)
	if err != nil || reread[0] != `{"a":{"x":{"n":"1"}},"list":[{"n":"2"}],"by":{"k-1":{"n":"3"}},"other":{"n":"4"},"x":{"n":"5","m":"6"}}` {
		t.Fatal(reread, err)
	}
	md, _ := s.Message("")
	if n, err := Normalise(md); err != nil || n.Messages != 5 {
		t.Errorf("%d messages, want 5: %v", n.Messages, err)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	pod := filepath.Join(strings.TrimSpace(string(dir)), "testdata", "HEAD", "core.v1.Pod.json")
	if _, err := os.Stat(pod); err != nil {
		t.Skip(err)
	}
	if _, err = Infer(pod, "", false); err != nil {
		t.Error(err)
	}
}
