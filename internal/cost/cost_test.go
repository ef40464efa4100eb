package cost_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// A stage declares a step, and its rows become the ways to do it.
func TestNew(t *testing.T) {
	rec := (&recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}).Record()
	stage := cost.Stage{Name: "encode", Figures: cost.Figures{Cost: &cost.Cost{
		Step: "pack", Title: "packed by", Without: "not packed", Of: func(row *record.Row) *cost.Operation {
			if !strings.HasPrefix(row.Case, "Encode/msg=0/") {
				return nil
			}
			return &cost.Operation{Messages: 10, Client: "pack", Bytes: []string{record.EncodedBytes}, Carries: true, Usual: row.Contender == "codec=b"}
		},
	}}}
	model := func() *cost.Model {
		return cost.New([]cost.Stage{{Name: "other"}, stage}, verdict.Analyze(rec).Cases)
	}
	options := model().Steps[0].Options(0)
	if len(options) != 2 || options[1].Label != "all 5" || options[1].Why != "its CPU time was not measured" {
		t.Errorf("without CPU times: %+v", options)
	}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s := &rec.Blocks[i].Series[j]
			s.CPUNS = s.WallNS
		}
	}
	m := model()
	options = m.Steps[0].Options(0)
	if len(options) != 6 || options[0].Label != "not packed" || options[1].Label != "a" || options[1].Heading != "msg=0 op=encode" {
		t.Fatalf("%+v", options)
	}
	// a takes 300 ns for 10 messages of 377 bytes.
	if p := options[1].Parts[0]; p.Name != "pack" || p.Value < 27 || p.Value > 33 || !p.Bounded() || p.Low > p.Value || options[1].Bytes != 377 {
		t.Errorf("%+v", options[1])
	}
	first := m.First()
	if label := options[first.At[0]].Label; label != "b" {
		t.Errorf("begins with %s", label)
	}
	bill := m.Bill(first)
	if len(bill.Lines) != 2 || len(bill.Switches) != 1 || bill.Switches[0].To != "a" || !(bill.Switches[0].Saving.Low > 0) {
		t.Errorf("%+v", bill)
	}
	if without := m.Bill(first.With(0, 0)); without.Total.Value != 0 || first.At[0] == 0 {
		t.Errorf("nothing packed: %+v", without)
	}
	rec.Row("Encode/msg=0/op=encode/codec=b").Proof = record.ProofFailed.Because("wrong")
	m = model()
	if at := m.First().At[0]; m.Steps[0].Options(0)[at].Label != "a" {
		t.Errorf("what failed is chosen: %d", at)
	}
}
