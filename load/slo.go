package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Objective is a latency that a share of the requests has to be under: p99<5ms.
type Objective struct {
	Percentile float64
	Under      time.Duration
}

// ParseObjective reads an objective such as "p99<5ms" or "p99.9<20ms".
func ParseObjective(text string) (Objective, error) {
	percentile, under, ok := strings.Cut(text, "<")
	number, isP := strings.CutPrefix(percentile, "p")
	p, err := strconv.ParseFloat(number, 64)
	d, err2 := time.ParseDuration(under)
	if !ok || !isP || err != nil || err2 != nil || !(p > 0 && p <= 100) || d <= 0 {
		return Objective{}, fmt.Errorf("objective %q: want one such as p99<5ms", text)
	}
	return Objective{p, d}, nil
}

func (o Objective) String() string {
	return fmt.Sprintf("p%s<%v", strconv.FormatFloat(o.Percentile, 'f', -1, 64), o.Under)
}

// Missed says why a result does not meet the objective, "" if it does.
func (o Objective) Missed(r *Result) string {
	if why := r.Invalid(); why != "" {
		return why
	}
	if failed := r.Failed(); failed > 0 {
		return fmt.Sprintf("%d requests failed", failed)
	}
	if why := r.Shortfall(); why != "" {
		return why
	}
	if got := time.Duration(r.Latency.ValueAtQuantile(o.Percentile)); got >= o.Under {
		return fmt.Sprintf("p%g is %v", o.Percentile, got.Round(time.Microsecond))
	}
	return ""
}

// Search finds the highest rate that meets the objective: it doubles the rate from p's
// until it does not, then halves the interval until it is within 5%. It returns the
// result at the highest rate that did, nil if none did, and is told of each try.
func Search(ctx context.Context, p Plan, o Objective, tried func(r *Result, missed string)) (*Result, error) {
	var best *Result
	low, high := 0.0, 0.0
	for rate := p.Rate; ; {
		p.Rate = rate
		r, err := Run(ctx, p)
		if err != nil {
			return best, err
		}
		if r.Interrupted {
			return best, nil
		}
		missed := o.Missed(r)
		if tried != nil {
			tried(r, missed)
		}
		if missed == "" {
			best, low = r, rate
		} else {
			high = rate
		}
		switch {
		case high == 0:
			rate *= 2
		case low == 0:
			if rate /= 2; rate < 1 {
				return nil, nil
			}
		case high-low <= 0.05*high:
			return best, nil
		default:
			rate = (low + high) / 2
		}
	}
}
