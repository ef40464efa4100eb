package verdict_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
)

// One function layout alone moves a row by a tenth and more: of sides built in one, 15% more is
// neither a regression nor passed, and half as much again is a regression.
func TestOneLayoutIsNotGated(t *testing.T) {
	for slower, want := range map[float64]verdict.Outcome{1: verdict.Inconclusive, 1.15: verdict.Inconclusive, 1.5: verdict.Regressed} {
		run := recordtest.Run{Rand: rand.New(rand.NewPCG(1, 2)), Cases: 1, Blocks: 16}
		rec := run.Record()
		recordtest.Against(rec, 1/slower)
		rec.Run.Layouts = 1
		c := verdict.ComparePaired(rec, verdict.DefaultThresholds())
		for _, row := range c.Rows {
			if row.Time != want {
				t.Errorf("%.2f: %s %s, want %s", slower, row.New.Row.Name, row.Time, want)
			}
		}
		if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "one function layout") }) {
			t.Errorf("no warning: %q", c.Warnings)
		}
		limits := verdict.DefaultThresholds()
		limits.Time, limits.OrSeen = 0.9, false
		if c := verdict.ComparePaired(rec, limits); c.Outcome() != verdict.Passed {
			t.Errorf("%.2f, threshold 90%%: %s: %s", slower, c.Outcome(), fmt.Sprint(c.Rows[0].Ratio))
		}
	}
}
