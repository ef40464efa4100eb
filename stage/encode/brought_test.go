package encode

import (
	"testing"

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
