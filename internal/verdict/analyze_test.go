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

const case0 = "Encode/msg=0/op=encode"

func oneCase(t *testing.T, seed uint64, change func(*recordtest.Run)) (*record.Record, *verdict.CaseResult) {
	t.Helper()
	r := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, seed)), Cases: 1, Blocks: 14}
	if change != nil {
		change(r)
	}
	rec := r.Record()
	return rec, verdict.AnalyzeCase(rec, case0)
}

// The figures of a record whose truth is known: base takes 1000 ns, a 300, c 2000, the
// floor 20.
func TestAnalyze(t *testing.T) {
	rec, c := oneCase(t, 1, nil)
	var names []string
	for _, r := range c.Rows {
		names = append(names, record.Short(r.Row.Contender))
	}
	if names[0] != "memcpy" || names[1] != "a" || names[2] != "b" || names[len(names)-1] != "d" {
		t.Errorf("not the fastest first: %v", names)
	}
	for contender, want := range map[string]struct {
		ratio   float64
		verdict verdict.Verdict
	}{"codec=a": {0.3, verdict.Faster}, "codec=c": {2, verdict.Slower}, "codec=control": {1, verdict.Same}} {
		r := c.Of(contender)
		if math.Abs(r.Ratio.Value/want.ratio-1) > 0.03 || r.Ratio.Low > r.Ratio.Value || r.Ratio.High < r.Ratio.Value {
			t.Errorf("%s: %+v, want %v", contender, r.Ratio, want.ratio)
		}
		if r.Verdict != want.verdict && contender != "codec=control" {
			t.Errorf("%s: %s", contender, r.Verdict)
		}
		if floor := *r.FloorRatio; math.Abs(floor/(50*want.ratio)-1) > 0.05 {
			t.Errorf("%s: %v times the floor", contender, floor)
		}
		if *r.AllocsOp != 2 || *r.BytesOp != 64 || r.Blocks != 14 {
			t.Errorf("%s: %d allocs, %d bytes, %d blocks", contender, *r.AllocsOp, *r.BytesOp, r.Blocks)
		}
	}
	if c.Baseline.Ratio != nil || c.Baseline.Verdict != verdict.Same || c.Control == nil || c.Stage() != "encode" {
		t.Errorf("baseline %+v, control %+v", c.Baseline, c.Control)
	}
	if ways := c.Ways(); len(ways) != 5 || slices.ContainsFunc(ways, func(r *verdict.Result) bool { return r == c.Control || r.Row.Role == record.RoleFloor }) {
		t.Errorf("%d ways", len(ways))
	}
	widest := 0.0
	for _, r := range c.Rows {
		if r.Ratio != nil && r.Row.Role != record.RoleFloor {
			widest = max(widest, r.Ratio.HalfWidth())
		}
	}
	if c.Widest() != widest || widest == 0 {
		t.Errorf("widest %v, want %v", c.Widest(), widest)
	}
	// A record says the same each time it is asked.
	if again := verdict.AnalyzeCase(rec, case0); again.Rows[1].Ratio.Low != c.Rows[1].Ratio.Low {
		t.Error("another answer")
	}
}

// Without proof there are no figures, and a control that differs is a warning.
func TestAnalyzeWhatFailed(t *testing.T) {
	rec, _ := oneCase(t, 2, nil)
	rec.Row(case0 + "/codec=a").Proof = record.ProofFailed.Because("decoded 7, want 8")
	c := verdict.Analyze(rec).Cases[0]
	a := c.Of("codec=a")
	if a.NSOp != nil || a.Ratio != nil || a.AllocsOp != nil || a.Metrics != nil || a.Reason() != "failed: decoded 7, want 8" || c.Rows[len(c.Rows)-1] != a {
		t.Errorf("%+v", a)
	}
	if c.Unmeasured() != "" {
		t.Error(c.Unmeasured())
	}
	// Nothing has a ratio to a baseline that failed.
	rec.Row(case0 + "/codec=base").Proof = record.ProofFailed.Because("bad base")
	for _, r := range verdict.Analyze(rec).Cases[0].Rows {
		if r.Ratio != nil || r.Verdict != verdict.Undecided {
			t.Errorf("%s: %v, %s", r.Row.Contender, r.Ratio, r.Verdict)
		}
	}
	for i := range rec.Rows {
		rec.Rows[i].Proof = record.ProofNotMeasured.Because("no time")
	}
	rec.Rows[1].Proof = record.ProofNotPossible.Because("it decodes wrongly")
	if got := verdict.Analyze(rec).Cases[0].Unmeasured(); got != "not measured: no time" {
		t.Error(got)
	}
	rec.Blocks = nil
	rec.Rows[0].Proof = record.ProofOK
	if got := verdict.Analyze(rec).Cases[0].Of("codec=base").Reason(); !strings.Contains(got, "the run ended before its first block") {
		t.Error(got)
	}
	rec, _ = oneCase(t, 3, func(r *recordtest.Run) { r.Slower = map[string]float64{case0 + "/codec=control": 1.2} })
	if w := verdict.Analyze(rec).Warnings; len(w) != 1 || !strings.Contains(w[0], "the baseline again, measured 1.") {
		t.Errorf("a control of 1.2: %v", w)
	}
}

// Rows of one case are compared pair by pair, and rows of two cases by their times alone.
func TestRatioOf(t *testing.T) {
	r := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 4)), Cases: 2, Blocks: 14}
	rec := r.Record()
	paired, ok := verdict.RatioOf(rec, case0+"/codec=a", case0+"/codec=b")
	if !ok || paired.Low > 0.6 || paired.High < 0.6 {
		t.Errorf("%v %+v", ok, paired)
	}
	across, ok := verdict.RatioOf(rec, "Encode/msg=1/op=encode/codec=a", case0+"/codec=b")
	if !ok || math.Abs(across.Value/0.6-1) > 0.03 || across.Low >= across.High {
		t.Errorf("%v %+v", ok, across)
	}
	for _, row := range []string{"Encode/nowhere", ""} {
		if _, ok := verdict.RatioOf(rec, row, case0+"/codec=b"); ok {
			t.Errorf("a ratio of %q", row)
		}
	}
}
