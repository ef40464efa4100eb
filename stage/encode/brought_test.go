package encode

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bytedance/sonic"
	jsonv2 "github.com/go-json-experiment/json"
	gojson "github.com/goccy/go-json"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protowire"

	"postage/internal/usermsg"
	"postage/lab"
	"postage/record"
	"postage/stage/encode/internal/bind"
)

// A case whose baseline is not possible for the samples is compared with one that is, so that the
// program can run.
func TestBaselineOf(t *testing.T) {
	c := &lab.Case{Baseline: "codec=protobuf", Contenders: []lab.Contender{
		{Name: "floor=memcpy", Floor: true}, {Name: "codec=protobuf", NotPossible: "it loses values"}, {Name: "codec=cbor"}, {Name: "codec=msgp"},
	}}
	for _, test := range []struct{ now, want string }{{"codec=msgp", "codec=msgp"}, {"", "codec=cbor"}, {"codec=protobuf", "codec=cbor"}} {
		if got := baselineOf(c, test.now, c.Baseline, "codec=json"); got != test.want {
			t.Errorf("for %q: %s, want %s", test.now, got, test.want)
		}
	}
	c.Contenders = c.Contenders[:2]
	if got := baselineOf(c, c.Baseline); got != "codec=protobuf" {
		t.Errorf("where none is possible: %s", got)
	}
}

// Where there is no time for an interval of each row, a run of a brought message has those of a
// first look, and says how to have all. Asked for by name, or resumed, none is left out.
func TestBroughtFirstLook(t *testing.T) {
	var of []lab.Entry
	for _, e := range lab.Entries([]lab.Suite{Suite()}) {
		if e.Case.Name == "Encode/msg=order/op=encode" || e.Case.Name == "Encode/msg=order/op=decode" {
			of = append(of, e)
		}
	}
	for _, r := range []struct {
		choice lab.Choice
		all    bool
	}{
		{lab.Choice{Budget: 45 * time.Second}, false},
		{lab.Choice{Budget: 10 * time.Minute}, true},
		{lab.Choice{Budget: 45 * time.Second, Patterns: []string{"op=encode"}}, true},
		{lab.Choice{Budget: 45 * time.Second, Resumed: true}, true},
	} {
		c := r.choice
		c.Entries = slices.Clone(of)
		if err := chooseBrought(&c); err != nil {
			t.Fatal(err)
		}
		if r.all != (len(c.Entries) == len(of)) || r.all != (c.Note == "") {
			t.Errorf("%+v: %d of %d rows, %q", r.choice, len(c.Entries), len(of), c.Note)
		}
		if !r.all && (!strings.Contains(c.Note, "--budget ")) {
			t.Errorf("%d rows need %v: %q", len(c.Entries), c.Needs(), c.Note)
		}
	}
}

// broughtSuite is the suite of a Go struct with samples.
func broughtSuite[T any](t *testing.T, samples ...string) lab.Suite {
	t.Helper()
	var file []byte
	for i, text := range samples {
		file = protowire.AppendString(file, fmt.Sprintf("samples.json:%d", i+1))
		file = protowire.AppendString(file, text)
	}
	folder := t.TempDir()
	config := usermsg.Config{Name: "mine", Samples: filepath.Join(folder, "samples"), Digest: fmt.Sprintf("%x", sha256.Sum256(file))}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	configFile := filepath.Join(folder, "brought.json")
	for path, data := range map[string][]byte{config.Samples: file, configFile: text} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(broughtAs, "")
	suite, _ := Struct[T](configFile)
	return suite
}

// lostRows has every row of a Go struct prove itself on samples, and returns the rows that fail.
func lostRows[T any](t *testing.T, samples ...string) map[string]string {
	t.Helper()
	lost := map[string]string{}
	for _, e := range lab.Entries([]lab.Suite{broughtSuite[T](t, samples...)}) {
		if op := record.KeysOf(e.Case.Name).Get("op"); op != "encode" && op != "decode" {
			continue
		}
		in, err := e.Contender.Open(t.Context(), lab.Env{Seed: 1})
		if err == nil {
			err = in.Prove(t.Context())
		}
		if err != nil {
			lost[e.Row()] = err.Error()
		}
	}
	return lost
}

// Encoding is the library's call that returns fresh bytes, and has no row of what cannot do that. Kept
// buffers are compared with each other.
func TestBroughtMarshalRows(t *testing.T) {
	type event struct {
		ID int `json:"id"`
	}
	rows := map[string][]string{}
	for _, c := range broughtSuite[event](t, `{"id": 1}`).Cases {
		o := record.KeysOf(c.Name).Get("op")
		for _, row := range c.Contenders {
			rows[o] = append(rows[o], row.Name)
			if o != "encode" || row.Floor {
				continue
			}
			in, err := row.Open(t.Context(), lab.Env{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if allocs := testing.AllocsPerRun(100, func() { err = in.Run(1) }); err != nil || allocs < 1 {
				t.Errorf("%s: %v allocations, %v", row.Name, allocs, err)
			}
		}
		if (o == "encode" || o == "encode-kept") && c.Baseline != "codec=json" {
			t.Errorf("the baseline is %s", c.Baseline)
		}
	}
	for _, library := range []string{"json", "jsonv2", "go-json", "sonic/config=std", "sonic/config=default", "cbor", "msgpack", "gob/types=every-message"} {
		for _, o := range []string{"encode", "encode-kept"} {
			if !slices.Contains(rows[o], "codec="+library) {
				t.Errorf("%s has no row in %s: %v", library, o, rows[o])
			}
		}
	}
	if slices.Contains(rows["encode"], "codec=gob/types=once") || slices.Contains(rows["encode"], "codec=json/reuse=no") {
		t.Errorf("fresh: %v", rows["encode"])
	}
}

// A json.RawMessage's spaces are no values: no row is lost by them.
func TestBroughtRawMessage(t *testing.T) {
	type event struct {
		ID   int             `json:"id"`
		Data json.RawMessage `json:"data"`
	}
	for row, why := range lostRows[event](t, `{"id": 1, "data": {"a": 1, "b": "<x>"}}`) {
		if strings.Contains(row, "codec=json") || strings.Contains(row, "sonic/config=std") || strings.Contains(row, "go-json") {
			t.Errorf("%s: %s", row, why)
		}
	}
}

// No row loses the milliseconds of a time.
func TestBroughtTime(t *testing.T) {
	type event struct {
		At time.Time `json:"at"`
	}
	for row, why := range lostRows[event](t, `{"at": "2026-01-02T03:04:05.678Z"}`) {
		if strings.Contains(why, "At") {
			t.Errorf("%s: %s", row, why)
		}
	}
}

// jsonv2 keeps a pointer to an empty text under the generated tags.
func TestOmitEmptyKeepsPointers(t *testing.T) {
	type name struct {
		Text *string `json:"text,omitempty"`
	}
	loops, err := jsonV2(bind.Form[name, name]{}, generatedTags).(*codec[name, name]).start()
	if err != nil {
		t.Fatal(err)
	}
	r := &run[name, name]{values: []*name{{new("")}}}
	if err := loops.encode(r, 1); err != nil || string(r.out) != `{"text":""}` {
		t.Errorf("%s, %v", r.out, err)
	}
}

// nested is lists in lists with zeros.
type nested struct {
	A any `json:"a"`
}

// Two values that differ in many nested lists are compared in linear time.
func TestDifferenceOfNestedLists(t *testing.T) {
	tree := func(leaf float64) any {
		var value any = leaf
		for range 9 {
			value = []any{value, value, leaf, value}
		}
		return value
	}
	got, want := nested{tree(0)}, nested{tree(1)}
	if d := diffOf(&got, &want); d != "nested.A[0][0][0][0][0][0][0][0][0]: got 0, want 1" {
		t.Error(d)
	}
	if d := diffOf(&want, &want); d != "" {
		t.Error(d)
	}
}

// A row does what the call does that a user writes first: it allocates as often.
func TestBroughtRowsAreCalls(t *testing.T) {
	type event struct {
		ID   int64     `json:"id"`
		At   time.Time `json:"at"`
		Tags []string  `json:"tags,omitempty"`
		Gift *string   `json:"gift,omitempty"`
	}
	const text = `{"id": 1, "at": "2026-01-02T03:04:05Z", "tags": ["blue", "cup"], "gift": "tea"}`
	byHand := map[string]structCodec{
		"codec=json":             {marshal: json.Marshal, decode: json.Unmarshal},
		"codec=jsonv2":           {marshal: func(v any) ([]byte, error) { return jsonv2.Marshal(v) }, decode: func(data []byte, v any) error { return jsonv2.Unmarshal(data, v) }},
		"codec=go-json":          {marshal: gojson.Marshal, decode: gojson.Unmarshal},
		"codec=sonic/config=std": {marshal: sonic.ConfigStd.Marshal, decode: sonic.ConfigStd.Unmarshal},
		"codec=msgpack":          {marshal: msgpack.Marshal, decode: msgpack.Unmarshal},
	}
	value := new(event)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		t.Fatal(err)
	}
	for _, e := range lab.Entries([]lab.Suite{broughtSuite[event](t, text)}) {
		call, ok := byHand[e.Contender.Name]
		o := record.KeysOf(e.Case.Name).Get("op")
		if !ok || o != "encode" && o != "decode" {
			continue
		}
		in, err := e.Contender.Open(t.Context(), lab.Env{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		data, err := call.marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		hand := func() { _, err = call.marshal(value) }
		if o == "decode" {
			hand = func() { err = call.decode(data, new(event)) }
		}
		row, want := testing.AllocsPerRun(100, func() { err = in.Run(1) }), testing.AllocsPerRun(100, hand)
		if row != want || err != nil {
			t.Errorf("%s allocates %v times, by hand %v; %v", e.Row(), row, want, err)
		}
	}
}
