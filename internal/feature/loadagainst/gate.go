package loadagainst

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"postage/internal/verdict"
)

// A Limit is how much higher a figure of the new side may be: p99:5%, cpu:3%, errors:0.
type Limit struct {
	Figure string
	Most   float64 // 0.05 for 5%; for a share of requests, percentage points
}

// ParseLimit reads a limit.
func ParseLimit(text string) (l Limit, err error) {
	name, most, _ := strings.Cut(text, ":")
	var names []string
	for _, q := range quantities {
		if q.name == onTime {
			continue
		}
		names = append(names, q.name)
		if q.name == name {
			number, percent := strings.CutSuffix(most, "%")
			l.Figure = name
			l.Most, err = strconv.ParseFloat(number, 64)
			if err != nil || !(l.Most >= 0) || math.IsInf(l.Most, 0) || !percent && l.Most != 0 {
				return l, fmt.Errorf("%q: want how much higher it may be, such as %s:5%%, or %s:0", text, name, name)
			}
			if !q.share {
				l.Most /= 100
			}
			return l, nil
		}
	}
	return l, fmt.Errorf("%q: want a figure and how much higher it may be, such as p99:5%%; figures are %s", text, strings.Join(names, ", "))
}

// Judge returns the worst outcome, and a line for each limit.
func (r *Result) Judge(limits []Limit) (outcome verdict.Outcome, lines []string) {
	outcome = verdict.Passed
	for _, l := range limits {
		one, why := verdict.Inconclusive, "it is not known"
		for i := range r.Figures {
			if f := &r.Figures[i]; f.Name == l.Figure {
				one, why = f.judge(l.Most), f.change()
			}
		}
		if outcome == verdict.Passed || one == verdict.Regressed {
			outcome = one
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", l.Figure, one, why))
	}
	return outcome, lines
}

// judge says whether the figure is higher than it may be.
func (f *Figure) judge(most float64) verdict.Outcome {
	change, high := f.Difference.Value, f.Difference.High
	if f.Ratio != nil {
		change, high = f.Ratio.Value-1, f.Ratio.High-1
	} else if change <= most {
		high = change // a share of 0 on both sides is no doubt
	}
	switch {
	case f.Verdict == "higher" && change > most:
		return verdict.Regressed
	case high > most && f.Verdict != "lower":
		return verdict.Inconclusive
	}
	return verdict.Passed
}
