package cli

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/bench"
	"postage/internal/build"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/lab"
	"postage/record"
)

// bisection finds the commit of a range at which a benchmark's time changed.
type bisection struct {
	cmd     *cobra.Command
	flags   benchFlags
	options bench.Options
	good    string
	commits []string      // after the good one, oldest first; the last one is bad
	share   time.Duration // of the budget that a step may take
}

func bisect(cmd *cobra.Command, options bench.Options, flags benchFlags) error {
	good, commits, err := bench.Commits(cmd.Context(), options.Folder, flags.bisect)
	if err != nil {
		return err
	}
	steps := 1 + bits.Len(uint(len(commits)))
	b := &bisection{cmd: cmd, flags: flags, options: options, good: good, commits: commits, share: flags.budget / time.Duration(steps)}
	b.options.All = true
	say(cmd, "%s, at most %d steps of %v", words.Counted(len(commits), "commit"), steps, b.share.Round(time.Second))
	return b.find()
}

// find measures the last commit beside the good one. Then it measures a commit in the middle
// between the last that is like the good one and the first that is like the bad one, until none is
// left.
func (b *bisection) find() error {
	low, high := -1, len(b.commits)-1
	whole, err := b.at(high, float64(b.flags.precision))
	if err != nil {
		return err
	}
	margin := verdict.Margin(float64(b.flags.precision))
	if by := verdict.Decide(whole, margin); by != verdict.Faster && by != verdict.Slower {
		b.step(high, whole, "no change")
		return hinted(errors.New("no change can be seen between the two, and there is nothing to look for"), "a larger --budget sees smaller ones")
	}
	b.step(high, whole, "changed")
	half := math.Log(whole.Value) / 2
	skipped := map[int]bool{}
	for high-low > 1 {
		middle, ok := nearestTo((low+high)/2, low, high, skipped)
		if !ok {
			break
		}
		c, err := b.at(middle, math.Abs(half)/2)
		if b.cmd.Context().Err() != nil {
			return err
		} else if err != nil {
			say(b.cmd, "%.12s is left out: %v", b.commits[middle], err)
			skipped[middle] = true
			continue
		}
		from, to := math.Log(c.Low)/half, math.Log(c.High)/half // in halves of the change, whichever direction that has
		switch {
		case min(from, to) > 1:
			b.step(middle, c, "changed")
			high = middle
		case max(from, to) < 1:
			b.step(middle, c, "as before")
			low = middle
		default:
			b.step(middle, c, "not sure")
			return hinted(fmt.Errorf("it is not sure on which side of the change %.12s is: it is one of the %d up to %.12s", b.commits[middle], high-low, b.commits[high]), "a larger --budget")
		}
	}
	if high-low > 1 {
		b.result("the first commit with the change is one of the %d up to this one, as the others cannot be measured:", high-low)
	} else {
		b.result("the first commit with the change:")
	}
	text, err := build.Output(b.cmd.Context(), "", "git", "show", "--no-patch", "--format=%H%n%an, %ad%n%n    %s", b.commits[high])
	b.result("%s", text)
	return err
}

func (b *bisection) result(format string, a ...any) {
	fmt.Fprintf(b.cmd.OutOrStdout(), format+"\n", a...)
}

// step describes a measured commit.
func (b *bisection) step(commit int, c verdict.Comparison, is string) {
	b.result("%.12s  %s of the good one's time  %s", b.commits[commit], report.RatioText(c.Interval), is)
}

// at returns the benchmark's time at a commit as a multiple of the time at the good one.
func (b *bisection) at(commit int, precision float64) (c verdict.Comparison, err error) {
	b.options.Vary = bench.Variation{Values: []string{b.good, b.commits[commit]}}
	set, err := bench.New(b.cmd.Context(), b.options)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	entries, err := set.Only()
	if err != nil {
		return c, err
	}
	plan := lab.NewPlan(entries, b.share)
	rec, out, err := newRun(plan, record.Run{
		Patterns: []string{entries[0].Case.Doc}, Seed: b.flags.seed, Precision: precision, Budget: b.share, Commit: b.commits[commit],
	}, "", "bisect-")
	if err != nil {
		return c, err
	}
	if err := conduct(b.cmd, lab.Conductor{SetUpPatience: b.flags.patience, BatchPatience: b.flags.patience}, plan.All(), rec, out); err != nil {
		return c, err
	}
	result := verdict.AnalyzeCase(rec, entries[0].Case.Name)
	good := result.Of(rec.Rows[len(rec.Rows)-1].Contender)
	if good == nil || good.Ratio == nil || !good.Ratio.Bounded() {
		for _, r := range result.Rows {
			if r.NSOp == nil {
				return c, errors.New(r.Reason())
			}
		}
		return c, errors.New("the budget is too small for an interval")
	}
	c = *good.Ratio
	c.Value, c.Low, c.High = 1/c.Value, 1/c.High, 1/c.Low
	return c, nil
}

// nearestTo returns the commit nearest to one, between two others, that was not skipped.
func nearestTo(wanted, low, high int, skipped map[int]bool) (int, bool) {
	for away := range high - low {
		for _, i := range []int{wanted + away, wanted - away} {
			if i > low && i < high && !skipped[i] {
				return i, true
			}
		}
	}
	return 0, false
}
