package cost_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/cost"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// A million messages cost what the blocks say of both ends; a way without one of them is left out.
func TestMillions(t *testing.T) {
	rec := (&recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}).Record()
	stage := cost.Stage{Name: "encode", Figures: cost.Figures{Ends: func(row *record.Row) *cost.Ends {
		if !strings.HasPrefix(row.Case, "Encode/msg=0/") {
			return nil
		}
		return &cost.Ends{Message: "mine", Back: "Encode/msg=1/op=encode"}
	}}}
	millions := func() []cost.Million {
		return cost.Millions([]cost.Stage{{Name: "other"}, stage}, verdict.Analyze(rec).Cases)["mine"]
	}
	if list := millions(); len(list) != 0 {
		t.Errorf("without CPU times: %+v", list)
	}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s := &rec.Blocks[i].Series[j]
			s.CPUNS = s.WallNS
		}
	}
	rec.Row("Encode/msg=1/op=encode/codec=b").Proof = record.ProofFailed.Because("wrong")
	list := millions()
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	// a takes 300 ns at either end for a message of 377 bytes, and a CPU hour costs 0.04.
	a := list[0]
	if a.Contender != "codec=a" || a.CPUSeconds < 0.54 || a.CPUSeconds > 0.66 || a.Wire != 377e6 || a.USDMonth != 2628*a.CPUSeconds/3600*0.04 {
		t.Errorf("%+v", a)
	}
	for i := range list[1:] {
		if list[i].USDMonth > list[i+1].USDMonth || list[i+1].Contender == "codec=b" {
			t.Errorf("%+v", list)
		}
	}
}
