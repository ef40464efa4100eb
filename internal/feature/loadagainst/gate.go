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
func ParseLimit(text string) (Limit, error) {
	name, most, _ := strings.Cut(text, ":")
	number, percent := strings.CutSuffix(most, "%")
	limit, err := strconv.ParseFloat(number, 64)
	valid := err == nil && limit >= 0 && limit <= math.MaxFloat64 && (percent || limit == 0)
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
		if f.Name != name || !valid {
			continue
		}
		if f.Unit != share {
			limit /= 100
		}
		return Limit{name, limit}, nil
	}
	return Limit{}, fmt.Errorf("%q: want a figure and how much higher it may be, such as p99:5%% or errors:0; figures are %s", text, strings.Join(names, ", "))
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
