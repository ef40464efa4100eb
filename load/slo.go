package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Objective is a bound on one figure of a run: a latency (p99<5ms, max<=1s), the share of requests
// that fail (errors<0.1%), or the requests a second (rate>=990).
type Objective struct {
	Figure, Operator string
	Bound            float64 // ns, a share from 0 to 1, or requests a second
	percentile       float64 // of a latency: 100 for the maximum; 0 for other figures
	text             string
}

var objective = regexp.MustCompile(`^(p[0-9.]+|max|rate|errors)(<=?|>=?)(.+)$`)

// ParseObjectives reads objectives such as "p99<5ms" or "p99.9<20ms,errors<0.1%".
func ParseObjectives(text string) (out []Objective, err error) {
	for part := range strings.SplitSeq(text, ",") {
		o, ok := parseObjective(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("objective %q: want one such as p99<5ms, max<=1s, errors<0.1%% or rate>=990", part)
		}
		out = append(out, o)
	}
	return out, nil
}

func parseObjective(text string) (o Objective, ok bool) {
	m := objective.FindStringSubmatch(text)
	if m == nil {
		return o, false
	}
	o = Objective{Figure: m[1], Operator: m[2], text: text}
	number, share := strings.CutSuffix(m[3], "%")
	var err error
	switch o.Figure {
	case "rate":
		o.Bound, err = strconv.ParseFloat(m[3], 64)
	case "errors":
		o.Bound, err = strconv.ParseFloat(number, 64)
		if o.Bound /= 100; !share || o.Bound > 1 {
			return o, false
		}
	default:
		figure := strings.Replace(o.Figure, "max", "p100", 1)
		if o.percentile, err = strconv.ParseFloat(figure[1:], 64); err != nil || !(o.percentile > 0 && o.percentile <= 100) {
			return o, false
		}
		var d time.Duration
		d, err = time.ParseDuration(m[3])
		o.Bound = float64(d)
	}
	return o, err == nil && (o.Bound > 0 || o.Bound == 0 && o.Operator != "<")
}

// Counts reports whether the objective says how many requests may fail.
func (o Objective) Counts() bool { return o.Figure == "errors" }

func (o Objective) String() string { return o.text }

// Missed returns why a result misses the objective, "" if it keeps it. A latency keeps it if the most
// that it may be does, and misses it if the least does. Otherwise the result shows nothing, and
// generator says that the generator is why.
func (o Objective) Missed(r *Result) (why string, generator bool) {
	switch o.Figure {
	case "rate":
		got := r.Achieved
		if r.Planned > 0 && r.Rate > 0 { // random arrivals are more or fewer by chance
			got = r.Rate * float64(r.Account.SentOnTime) / float64(r.Planned)
		}
		if !o.holds(got) {
			why = fmt.Sprintf("the rate is %.4g", got)
		}
		return why, false
	case "errors":
		got := float64(r.Failed()) / float64(max(1, r.Done))
		if !o.holds(got) {
			why = fmt.Sprintf("%.3g%% of requests failed", 100*got)
		}
		return why, false
	}
	return o.missedLatency(r)
}

func (o Objective) holds(got float64) bool {
	switch o.Operator {
	case "<":
		return got < o.Bound
	case "<=":
		return got <= o.Bound
	case ">":
		return got > o.Bound
	}
	return got >= o.Bound
}

func (o Objective) missedLatency(r *Result) (why string, generator bool) {
	if r.Done == 0 || r.overloaded() || r.fault != "" {
		return r.Invalid(), false
	}
	least, most, bounded := r.Between(o.percentile)
	if !bounded {
		most = math.MaxInt64
	}
	switch low, high := o.holds(float64(least)), o.holds(float64(most)); {
	case low && high:
		return "", false
	case low != high && !bounded:
		return fmt.Sprintf("%s is at least %v: not all requests were answered", o.Figure, least.Round(time.Microsecond)), false
	case low != high:
		return fmt.Sprintf("the generator was the limit: %s is between %v and %v", o.Figure, least.Round(time.Microsecond), most.Round(time.Microsecond)), true
	}
	if !bounded {
		most = least
	}
	return fmt.Sprintf("%s is %v", o.Figure, most.Round(time.Microsecond)), false
}

// Missed returns why a result misses one of the objectives, "" if it keeps all. It also misses if
// requests were not sent on time, or if one failed and no objective is about errors. generator says
// that the generator was the reason, not the server.
func Missed(r *Result, objectives []Objective) (why string, generator bool) {
	if len(r.Account.Limits) > 0 || r.fault != "" {
		return r.Invalid(), true
	}
	if failed := r.Failed(); failed > 0 && !slices.ContainsFunc(objectives, Objective.Counts) {
		return fmt.Sprintf("%d requests failed", failed), false
	}
	if why := r.Shortfall(); why != "" {
		return why, false
	}
	for _, o := range objectives {
		why, generator := o.Missed(r)
		if why != "" {
			return why, generator || o.percentile > 0 && r.Busy() > 0.9
		}
	}
	return "", false
}

// A Try is one run of a search.
type Try struct {
	Result *Result
	// Missed and Generator are what the function Missed returned.
	Missed    string
	Generator bool
}

// tries is how many runs decide, by majority, whether a rate holds. In a single one the machine may
// have been busy for a moment.
const tries = 3

// Search finds the highest rate that keeps the objectives. It doubles p's constant rate until it
// fails, then halves the interval until it is within 5%. It returns a result at the highest rate that
// held, nil if none did, and the last try that failed. It calls told after each try.
func Search(ctx context.Context, p Plan, objectives []Objective, told func(Try)) (best *Result, limit Try, err error) {
	low, high := 0.0, 0.0
	constant, ok := p.Pacer.(Constant)
	if !ok || constant.Rate == 0 {
		return nil, limit, errors.New("load: a search begins with a constant rate")
	}
	for rate := constant.Rate; ; {
		p.Pacer = Constant{rate, constant.For}
		held, missed, err := tryRate(ctx, p, objectives, told)
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

// tryRate runs a rate until it is decided: at once if the first run holds, otherwise by majority. It
// returns no result if the search was interrupted.
func tryRate(ctx context.Context, p Plan, objectives []Objective, told func(Try)) (held *Result, missed Try, err error) {
	for holds, fails := 0, 0; ; {
		r, err := Run(ctx, p)
		if err != nil || r.Interrupted && r.GaveUp == "" {
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
