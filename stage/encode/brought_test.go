package encode

import (
	"slices"
	"strings"
	"testing"
	"time"

	"postage/lab"
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
