package load

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Objective is a limit that a run has to stay below: a latency at a percentile of the requests
// (p99<5ms), or a share that fails (errors<0.1%).
type Objective struct {
	Percentile float64 // 0 for a share of errors
	Under      time.Duration
	Errors     float64 // the share of failures to stay under, 0 to 1
}

// ParseObjectives reads objectives such as "p99<5ms" or "p99.9<20ms,errors<0.1%".
func ParseObjectives(text string) (out []Objective, err error) {
	for part := range strings.SplitSeq(text, ",") {
		o, ok := parseObjective(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("objective %q: want one such as p99<5ms or errors<0.1%%", part)
		}
		out = append(out, o)
	}
	return out, nil
}

func parseObjective(text string) (Objective, bool) {
	what, bound, _ := strings.Cut(text, "<")
	if what == "errors" {
		number, ok := strings.CutSuffix(bound, "%")
		share, err := strconv.ParseFloat(number, 64)
		return Objective{Errors: share / 100}, ok && err == nil && share > 0 && share <= 100
	}
	number, ok := strings.CutPrefix(what, "p")
	p, err := strconv.ParseFloat(number, 64)
	under, err2 := time.ParseDuration(bound)
	return Objective{Percentile: p, Under: under}, ok && err == nil && err2 == nil && p > 0 && p <= 100 && under > 0
}

func (o Objective) String() string {
	if o.Percentile == 0 {
		return fmt.Sprintf("errors<%s%%", strconv.FormatFloat(o.Errors*100, 'g', 6, 64))
	}
	return fmt.Sprintf("p%s<%v", strconv.FormatFloat(o.Percentile, 'f', -1, 64), o.Under)
}

// Missed returns why a result misses the objective, "" if it keeps it. A latency that is the
// generator's own always misses.
func (o Objective) Missed(r *Result) string {
	if o.Percentile == 0 {
		if share := float64(r.Failed()) / float64(max(1, r.Done)); share >= o.Errors {
			return fmt.Sprintf("%.3g%% of requests failed", 100*share)
		}
		return ""
	}
	if why := r.unsure(o.Percentile); why != "" {
		return why
	}
	if got := time.Duration(r.Latency.ValueAtQuantile(o.Percentile)); got >= o.Under {
		return fmt.Sprintf("p%g is %v", o.Percentile, got.Round(time.Microsecond))
	}
	return ""
}

// unsure returns why a percentile is the generator's own, "" if it is the server's.
func (r *Result) unsure(percentile float64) string {
	if why := r.Invalid(); why != "" {
		return why
	}
	if !r.OnTime(percentile) {
		return fmt.Sprintf("the generator was the limit: it was late at p%g", percentile)
	}
	return ""
}

// Missed returns why a result misses some of the objectives, "" if it keeps all. A result also
// misses if not everything was sent on time or, where no objective is about errors, if a request
// failed. generator says that the generator was the reason, not the server.
func Missed(r *Result, objectives []Objective) (why string, generator bool) {
	if why := r.Invalid(); why != "" && r.Done > 0 && !r.overloaded() {
		return why, true
	}
	speaks := func(o Objective) bool { return o.Percentile == 0 }
	if failed := r.Failed(); failed > 0 && !slices.ContainsFunc(objectives, speaks) {
		return fmt.Sprintf("%d requests failed", failed), false
	}
	if why := r.Shortfall(); why != "" {
		return why, false
	}
	for _, o := range objectives {
		if why := o.Missed(r); why != "" {
			return why, o.Percentile > 0 && r.unsure(o.Percentile) != "" && !r.overloaded()
		}
	}
	return "", false
}

// A Try is one run of a search.
type Try struct {
	Result *Result
	// Missed is why it missed the objectives, "" if it kept them. Generator says that the generator
	// was the reason.
	Missed    string
	Generator bool
}

// tries is how many runs at one rate decide, by majority, whether it holds. A single run may have
// met a moment in which the machine was busy.
const tries = 3

// Search finds the highest rate that keeps the objectives. It doubles p's rate until the rate
// fails, then halves the interval until it is within 5%. It returns a result at the highest rate
// that held, nil if none did, and the last try that failed, which says what the limit was. told is
// called after each try.
func Search(ctx context.Context, p Plan, objectives []Objective, told func(Try)) (best *Result, limit Try, err error) {
	low, high := 0.0, 0.0
	for rate := p.Rate; ; {
		p.Rate = rate
		held, missed, err := attempt(ctx, p, objectives, told)
		if err != nil || held == nil && missed.Result == nil {
			return best, limit, err
		}
		if held != nil {
			best, low = held, rate
		} else {
			limit, high = missed, rate
		}
		switch {
		case high == 0:
			rate *= 2
		case low == 0:
			if rate /= 2; rate < 1 {
				return nil, limit, nil
			}
		case high-low <= 0.05*high:
			return best, limit, nil
		default:
			rate = (low + high) / 2
		}
	}
}

// attempt runs a rate until it is decided whether it holds: at once if the first run holds,
// otherwise by majority. It returns no result if the search was interrupted.
func attempt(ctx context.Context, p Plan, objectives []Objective, told func(Try)) (held *Result, missed Try, err error) {
	for holds, fails := 0, 0; ; {
		r, err := Run(ctx, p)
		if err != nil || r.Interrupted {
			return nil, Try{}, err
		}
		try := Try{Result: r}
		try.Missed, try.Generator = Missed(r, objectives)
		if told != nil {
			told(try)
		}
		if try.Missed == "" {
			holds++
		} else {
			fails++
		}
		switch {
		case holds > tries/2 || holds > 0 && fails == 0:
			return r, Try{}, nil
		case fails > tries/2:
			return nil, try, nil
		}
	}
}
