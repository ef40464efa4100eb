package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/record/recordtest"
)

// A contender that nothing beats has its sentence, whether the operation has a verb or not.
func TestAnswersOfTheUnbeaten(t *testing.T) {
	for _, op := range []string{"encode", "other"} {
		const c = "Encode/msg=0/op=encode/"
		// a is as fast as the baseline, all others are slower.
		run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20, Slower: map[string]float64{c + "codec=a": 10.0 / 3, c + "codec=b": 5}}
		rec := run.Record()
		rename := func(s *string) { *s = strings.Replace(*s, "op=encode", "op="+op, 1) }
		for i := range rec.Rows {
			rename(&rec.Rows[i].Name)
			rename(&rec.Rows[i].Case)
		}
		for i := range rec.Blocks {
			rename(&rec.Blocks[i].Case)
			for j := range rec.Blocks[i].Series {
				rename(&rec.Blocks[i].Series[j].Row)
			}
		}
		page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
		if !strings.Contains(page, "and no faster contender was found") {
			t.Errorf("%s: the page does not say that no faster contender was found", op)
		}
	}
}

// The old versions of a run against a revision are in the plots, but cannot be chosen.
func TestOldSelvesAreNoChoice(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec := run.Record()
	recordtest.Against(rec, 0.2)
	page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
	if !strings.Contains(page, "rev=abc1234") || !strings.Contains(page, "a encodes") {
		t.Error("the page lacks the old rows, or the answer")
	}
	for _, never := range []string{"rev=abc1234 encodes", "rev=abc1234 is"} {
		if strings.Contains(page, never) {
			t.Errorf("the page says %q", never)
		}
	}
}
