package encode

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
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

// CBOR by itself loses the milliseconds of a time, and keeps them in a row of its own.
func TestBroughtTime(t *testing.T) {
	type event struct {
		At time.Time `json:"at"`
	}
	for row, why := range lostRows[event](t, `{"at": "2026-01-02T03:04:05.678Z"}`) {
		if strings.HasSuffix(row, "codec=cbor") != strings.Contains(why, "At") || strings.Contains(row, "rfc3339nano") {
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

// item and order are a message as users have it.
type item struct {
	SKU   string   `json:"sku"`
	Title string   `json:"title"`
	Count int      `json:"count"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags,omitempty"`
	Gift  *string  `json:"gift,omitempty"`
}

type orderLike struct {
	ID     int64     `json:"id"`
	Buyer  string    `json:"buyer"`
	Placed time.Time `json:"placed"`
	Items  []item    `json:"items,omitempty"`
}

func someOrder(items int) orderLike {
	words := strings.Fields("blue cup tea mug large small wool sock")
	word := func() string { return words[rand.IntN(len(words))] }
	o := orderLike{ID: rand.Int64N(1e10), Buyer: word(), Placed: time.Unix(rand.Int64N(1e9), 0).UTC()}
	for range items {
		one := item{SKU: fmt.Sprint("SKU-", rand.IntN(1e6)), Title: word() + " of " + word(), Count: rand.IntN(9), Price: float64(rand.IntN(1e4)) / 8}
		for range rand.IntN(4) {
			one.Tags = append(one.Tags, word())
		}
		if rand.IntN(3) == 0 {
			one.Gift = new(word())
		}
		o.Items = append(o.Items, one)
	}
	return o
}

// Rows cost what the calls cost that a user writes first, by a loop of go test's.
func TestBroughtRowsCostWhatCallsCost(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("measures for 20 seconds: POSTAGE_LONG=1")
	}
	type library struct {
		marshal   func(any) ([]byte, error)
		unmarshal func([]byte, any) error
	}
	byHand := map[string]library{
		"codec=json":             {json.Marshal, json.Unmarshal},
		"codec=jsonv2":           {func(v any) ([]byte, error) { return jsonv2.Marshal(v) }, func(data []byte, v any) error { return jsonv2.Unmarshal(data, v) }},
		"codec=go-json":          {gojson.Marshal, gojson.Unmarshal},
		"codec=sonic/config=std": {sonic.ConfigStd.Marshal, sonic.ConfigStd.Unmarshal},
		"codec=cbor":             {cbor.Marshal, cbor.Unmarshal},
		"codec=msgpack":          {msgpack.Marshal, msgpack.Unmarshal},
	}
	for size, of := range map[string]struct{ samples, items int }{"90 B": {64, 0}, "11 KB": {8, 90}, "5 MB": {1, 40_000}} {
		var values []orderLike
		var texts []string
		for range of.samples {
			values = append(values, someOrder(of.items))
			text, err := json.Marshal(&values[len(values)-1])
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		suite := broughtSuite[orderLike](t, texts...)
		for _, c := range suite.Cases {
			o := record.KeysOf(c.Name).Get("op")
			if o != "encode" && o != "decode" {
				continue
			}
			calls := map[string]func(int) error{}
			for _, row := range c.Contenders {
				call, ok := byHand[row.Name]
				if !ok {
					continue
				}
				in, err := row.Open(t.Context(), lab.Env{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				if err := in.Prove(t.Context()); err != nil {
					t.Fatalf("%s: %v", row.Name, err)
				}
				var data [][]byte
				for i := range values {
					one, err := call.marshal(&values[i])
					if err != nil {
						t.Fatal(err)
					}
					data = append(data, one)
				}
				calls[row.Name] = in.Run
				calls["by hand "+row.Name] = func(n int) error {
					for i := range n {
						if o == "encode" {
							_, err = call.marshal(&values[i%len(values)])
						} else {
							var v orderLike
							err = call.unmarshal(data[i%len(values)], &v)
						}
						if err != nil {
							return err
						}
					}
					return nil
				}
			}
			took := map[string]time.Duration{} // by the fastest turn
			off := byHand
			for turn := 0; len(off) > 0 && turn < 100; turn++ {
				for name, call := range calls {
					n := int(max(1, 2*time.Millisecond/max(took[name], time.Millisecond/100)))
					begin := time.Now()
					if err := call(n); err != nil {
						t.Fatal(err)
					}
					if one := time.Since(begin) / time.Duration(n); turn <= 1 || one < took[name] {
						took[name] = one
					}
				}
				if turn >= 20 {
					off = maps.Clone(byHand)
					maps.DeleteFunc(off, func(name string, _ library) bool {
						return took[name] < took["by hand "+name]*5/4 && took["by hand "+name] < took[name]*5/4
					})
				}
			}
			for name := range byHand {
				t.Logf("%s, %s %-22s row %10v, by hand %10v", size, o, name, took[name], took["by hand "+name])
			}
			for name := range off {
				t.Errorf("%s, %s %s costs %v, by hand %v", size, o, name, took[name], took["by hand "+name])
			}
		}
	}
}
