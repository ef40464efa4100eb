package verdict_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

const ofFirst = "Encode/msg=0/op=encode/"

// advised is a record of one case: the baseline takes 1,000 ns, a 300, b 500, c 2,000 and d 9,000,
// times the factors.
func advised(blocks int, slower map[string]float64) *record.Record {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(3, 1)), Cases: 1, Blocks: blocks, Slower: slower}
	return run.Record()
}

func adviceOf(t *testing.T, rec *record.Record) *verdict.Advice {
	t.Helper()
	a := verdict.Advise(verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode"))
	if a == nil {
		t.Fatal("no advice")
	}
	return a
}

func namesOf(results []*verdict.Result) (names []string) {
	for _, r := range results {
		names = append(names, r.Row.Contender)
	}
	return names
}

func TestAdvise(t *testing.T) {
	a := adviceOf(t, advised(10, nil))
	if a.Use.Row.Contender != "codec=a" || a.Instead.Row.Contender != "codec=base" || a.Sure < 0.99 || a.Also != nil || a.Departing != nil {
		t.Errorf("use %s instead of %s, sure %v, or %q", a.Use.Row.Contender, a.Instead.Row.Contender, a.Sure, namesOf(a.Also))
	}
	if truth := 1000.0 / 300; !a.Saves.Contains(truth) || a.Saves.High/a.Saves.Low > 1.1 {
		t.Errorf("saves %v, want about %v", a.Saves, truth)
	}
}

// The estimate decides, however wide its interval; that says how sure it is, and what else may be
// best.
func TestAdviceGoesByTheEstimate(t *testing.T) {
	rec := advised(10, nil) // a 300, b 500
	rng := rand.New(rand.NewPCG(3, 2))
	for i := range rec.Blocks {
		s := rec.Blocks[i].Of(ofFirst + "codec=a")
		factor := 1.2 * math.Exp(0.8*rng.NormFloat64())
		for j := range s.WallNS {
			s.WallNS[j] = int64(factor * float64(s.WallNS[j]))
		}
	}
	a := adviceOf(t, rec)
	for _, r := range verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode").Ways() {
		if r.NSOp.Value < a.Use.NSOp.Value {
			t.Errorf("%s has a lower estimate than %s", r.Row.Contender, a.Use.Row.Contender)
		}
	}
	if a.Use.Row.Contender != "codec=a" || a.Saves.High/a.Saves.Low < 2 || !slices.Equal(namesOf(a.Also), []string{"codec=b"}) || a.Sure < 0.5 || a.Sure > 0.99 {
		t.Errorf("use %s, which saves %v, sure %v, or %q", a.Use.Row.Contender, a.Saves, a.Sure, namesOf(a.Also))
	}
}

// What departs from a standard is never what is advised, but it is named where it is cheaper.
func TestAdviceKeepsToStandards(t *testing.T) {
	for departing, want := range map[string]string{"codec=a": "codec=b", "codec=c": "codec=a", "codec=base": "codec=a"} {
		rec := advised(10, nil)
		rec.Row(ofFirst + departing).Properties = map[string]string{record.Departs: "RFC 1 (2)"}
		a := adviceOf(t, rec)
		if a.Use.Row.Contender != want || a.Instead.Row.Contender != "codec=base" {
			t.Errorf("%s departs: use %s instead of %s", departing, a.Use.Row.Contender, a.Instead.Row.Contender)
		}
		if cheaper := departing == "codec=a"; (a.Departing != nil) != cheaper || cheaper && a.Departing.Row.Contender != departing {
			t.Errorf("%s departs: %v", departing, a.Departing)
		}
	}
}

// Where the baseline is best, the next best is how much worse.
func TestAdviceToStay(t *testing.T) {
	a := adviceOf(t, advised(10, map[string]float64{ofFirst + "codec=a": 10, ofFirst + "codec=b": 3}))
	if a.Use.Row.Contender != "codec=base" || a.Instead.Row.Contender != "codec=b" || !a.Saves.Contains(1.5) || a.Sure < 0.99 {
		t.Errorf("use %s instead of %s, which saves %v, sure %v", a.Use.Row.Contender, a.Instead.Row.Contender, a.Saves, a.Sure)
	}
}

// One block is enough for advice, and for nothing that says how sure it is.
func TestAdviceOfOneBlock(t *testing.T) {
	a := adviceOf(t, advised(1, nil))
	if a.Use.Row.Contender != "codec=a" || a.Saves.Value < 3 || a.Saves.Bounded() || !math.IsNaN(a.Sure) || len(a.Also) != 4 {
		t.Errorf("use %s, which saves %v, sure %v, or %q", a.Use.Row.Contender, a.Saves, a.Sure, namesOf(a.Also))
	}
}

// Blocks that all agree say no more than their number allows.
func TestAdviceOfFewBlocks(t *testing.T) {
	for blocks, want := range map[int]float64{2: 0.75, 4: 0.9375} {
		if a := adviceOf(t, advised(blocks, nil)); a.Sure != want {
			t.Errorf("%d blocks: sure %v, want %v", blocks, a.Sure, want)
		}
	}
}

// Rows may sit out blocks.
func TestAdviceOfRowsSeldomTogether(t *testing.T) {
	rec := advised(16, nil)
	for i := range rec.Blocks {
		left := []string{"codec=a", "codec=b"}[i%2]
		rec.Blocks[i].Series = slices.DeleteFunc(rec.Blocks[i].Series, func(s record.Series) bool { return strings.HasSuffix(s.Row, left) })
	}
	if a := adviceOf(t, rec); a.Use.Row.Contender != "codec=a" || a.Also != nil || a.Sure < 0.99 {
		t.Errorf("use %s, sure %v, or %q", a.Use.Row.Contender, a.Sure, namesOf(a.Also))
	}
}

// There is no advice where there is no choice.
func TestNoAdvice(t *testing.T) {
	failed := func(names ...string) *record.Record {
		rec := advised(10, nil)
		for _, name := range names {
			rec.Row(ofFirst + name).Proof = "failed: proof: no"
		}
		return rec
	}
	for what, rec := range map[string]*record.Record{"no baseline": failed("codec=base"), "nothing beside it": failed("codec=a", "codec=b", "codec=c", "codec=d"), "no block": advised(0, nil)} {
		if a := verdict.Advise(verdict.AnalyzeCase(rec, "Encode/msg=0/op=encode")); a != nil {
			t.Errorf("%s: use %s", what, a.Use.Row.Contender)
		}
	}
}
