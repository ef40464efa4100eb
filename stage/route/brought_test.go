package route

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

	"google.golang.org/protobuf/encoding/protowire"

	"postage/internal/usermsg"
	"postage/internal/verdict"
	"postage/lab"
	"postage/stage/encode"
)

// broughtAt names the configuration that the test program's servers read.
const broughtAt = "POSTAGE_TEST_BROUGHT"

// A parcel is a user's struct. It has no key, and one of the samples is empty.
type parcel struct {
	To     string            `json:"to"`
	Weight *float64          `json:"weight,omitempty"`
	Sent   time.Time         `json:"sent"`
	Items  []parcel          `json:"items,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Kind   kind              `json:"kind"`
	Size   [2]uint16         `json:"size"`
	Count  uint16
	Number uint64
	Level  *int8  `json:",omitempty"`
	Photo  []byte `json:"photo"`
	Safe   bool   `json:"safe"`
}

type kind string

func (p *parcel) Marshal() ([]byte, error) { return json.Marshal(p) }
func (p *parcel) Unmarshal(b []byte) error { return json.Unmarshal(b, p) }

func brought(config string) []lab.Suite { return Brought(encode.Struct[parcel](config)) }

// bring writes what `postage bring` would, and has the servers find it.
func bring(t *testing.T, c usermsg.Config) (config string) {
	t.Helper()
	var file []byte
	for i, sample := range []string{`{}`, `{"to": "Zoë", "weight": -0.5, "sent": "2026-11-25T03:00:00+02:00", "labels": {"a": "1", "b": "2"}, "kind": "wide", "size": [1, 2], "Count": 65535}`, `{"to": "x", "items": [{"to": "y"}, {"weight": 0}], "Number": 18446744073709551615, "Level": -128, "photo": "AP8=", "safe": true}`} {
		file = protowire.AppendString(file, fmt.Sprintf("samples.ndjson:%d", i+1))
		file = protowire.AppendString(file, sample)
	}
	dir := t.TempDir()
	config = filepath.Join(dir, "brought.json")
	c.Name, c.Of, c.Doc, c.Samples, c.Digest = "parcel", "route.parcel", "a parcel", filepath.Join(dir, "samples"), fmt.Sprintf("%x", sha256.Sum256(file))
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{c.Samples: file, config: text} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(broughtAt, config)
	t.Setenv("POSTAGE_BROUGHT", "")
	return config
}

// A brought message has the whole way, by the codecs that can take it, in a sink and in PostgreSQL:
// as bytes and as JSON.
func TestBrought(t *testing.T) {
	config := bring(t, usermsg.Config{Baseline: "codec=cbor"})
	suites := brought(config)
	if err := lab.Check(suites); err != nil {
		t.Fatal(err)
	}
	cases := suites[0].Made(eachNumber)
	var names []string
	for _, row := range cases[0].Contenders {
		if !row.Floor {
			names = append(names, row.Name)
		}
	}
	if cases[0].Name != "Route/msg=parcel/msgs=1/peer=sink" || names[0] != "codec=cbor/proto=http1/pack=none/lib=pgx/call=exec" {
		t.Errorf("the first case is %s, its baseline %s", cases[0].Name, names[0])
	}
	for _, want := range []string{"codec=json", "codec=own/method=Marshal", "codec=json/column=jsonb", "codec=sonic/config=default/proto=grpc"} {
		if !slices.Contains(names, want) {
			t.Errorf("no row %s in %s", want, names)
		}
	}
	if all := strings.Join(names, " "); strings.Contains(all, "protobuf") || strings.Contains(all, "seal=") {
		t.Errorf("rows that a struct cannot have: %s", all)
	}
	_, traffic := encode.Struct[parcel](config)
	proveAll(t, &route{traffic}, cases)
}

// A codec that cannot hold the samples says so in its rows, and is no baseline. Of large messages
// no 100 are sent in one request.
func TestBroughtLost(t *testing.T) {
	lost := map[string]string{"Encode/msg=parcel/op=decode/codec=cbor": "decode: message 0: decoded to something else: parcel.To: got nothing"}
	suites := brought(bring(t, usermsg.Config{Baseline: "codec=cbor", Lost: lost, Largest: 1 << 20}))
	for _, c := range suites[0].Made(eachNumber) {
		if messages(c.Name) != 1 || !strings.HasPrefix(c.Baseline, "codec=json/") {
			t.Errorf("there is %s, with the baseline %s", c.Name, c.Baseline)
		}
		i := slices.IndexFunc(c.Contenders, func(o lab.Contender) bool { return o.Name == "codec=cbor" })
		if i < 0 || !strings.Contains(c.Contenders[i].NotPossible, "parcel.To: got nothing") {
			t.Errorf("%s does not say that cbor loses values", c.Name)
		}
	}
}

// What the answer says is of the message.
func TestBroughtSays(t *testing.T) {
	r := route{encode.Traffic{Name: "parcel", One: "the parcel", Many: "parcel messages", Usual: "codec=json"}}
	const name = "Route/msg=parcel/msgs=1/peer=sink"
	us := map[string]float64{}
	for _, row := range append(r.usual(1).parts(), r.usual(1).name()) {
		us[row] = 1
	}
	story := r.says(recordOf(name, r.usual(1).name(), us), &verdict.CaseResult{Name: name})
	if len(story) == 0 || !strings.HasPrefix(story[0], "The parcel's way costs 1 µs of CPU: ") {
		t.Errorf("it says %q", story)
	}
}
