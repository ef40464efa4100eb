package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Stage is a part of a run in which the rate changes evenly from From to To, in requests a
// second.
type Stage struct {
	Duration time.Duration
	From, To float64
}

// Stages follow one another.
type Stages []Stage

// ParseStages reads stages such as "10s:0..500,1m:500,5s:2000": a duration and a rate, or two rates
// for a ramp.
func ParseStages(text string) (stages Stages, err error) {
	for part := range strings.SplitSeq(text, ",") {
		length, rates, _ := strings.Cut(strings.TrimSpace(part), ":")
		from, to, ramp := strings.Cut(rates, "..")
		if !ramp {
			to = from
		}
		var s Stage
		var errs [3]error
		s.Duration, errs[0] = time.ParseDuration(length)
		s.From, errs[1] = strconv.ParseFloat(from, 64)
		s.To, errs[2] = strconv.ParseFloat(to, 64)
		if errors.Join(errs[:]...) != nil || s.Duration <= 0 || !(s.From >= 0 && s.To >= 0) || math.IsInf(s.From+s.To, 0) {
			return nil, fmt.Errorf("stage %q: want one such as 10s:500, or 10s:0..500 for a ramp", part)
		}
		stages = append(stages, s)
	}
	if requests, _ := stages.Span(); requests == 0 {
		return nil, fmt.Errorf("stages %q send nothing", text)
	}
	return stages, nil
}

// Span implements Pacer.
func (stages Stages) Span() (requests float64, lasts time.Duration) {
	for _, s := range stages {
		requests += (s.From + s.To) / 2 * s.Duration.Seconds()
		lasts += s.Duration
	}
	return requests, lasts
}

// Due implements Pacer.
func (stages Stages) Due(n float64) time.Duration { return time.Duration(stages.dueAfter(n) * 1e9) }

// dueAfter returns the time, in seconds, before which so many requests are due.
func (stages Stages) dueAfter(n float64) (at float64) {
	for _, s := range stages {
		d := s.Duration.Seconds()
		if all := (s.From + s.To) / 2 * d; n >= all && at+d > 0 {
			n -= all
			at += d
			continue
		}
		// n = From t + slope/2 t², solved in the form that loses no digits when slope is small.
		slope := (s.To - s.From) / d
		if n <= 0 {
			return at
		}
		// A stage that sends almost nothing has roots that are too small for a float64.
		return at + min(d, 2*n/(s.From+math.Sqrt(max(0, s.From*s.From+2*slope*n))))
	}
	return at
}
