package load

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Objective is a bound on one figure of a run: a latency (p99<5ms, max<=1s, mean<2ms), the share
// of requests that fail or have a status or a class of them (errors<0.1%, 503<=1%, 2xx>99%), or the
// requests a second (rate>=990).
type Objective struct {
	Of, Is string
	Bound  float64 // ns, a share from 0 to 1, or requests a second
	text   string
}

// objective has gRPC's statuses one by one: a misspelt one would always be kept.
var objective = regexp.MustCompile(`^(p[0-9.]+|max|mean|rate|errors|[1-9][0-9]?|[1-5](?:xx|[0-9][0-9])|OK|Canceled|Unknown|InvalidArgument|DeadlineExceeded|NotFound|AlreadyExists|PermissionDenied|` +
	`ResourceExhausted|FailedPrecondition|Aborted|OutOfRange|Unimplemented|Internal|Unavailable|DataLoss|Unauthenticated)(<=?|>=?)(.+)$`)

// ParseObjectives reads objectives such as "p99<5ms" or "p99.9<20ms,errors<0.1%".
func ParseObjectives(text string) (out []Objective, err error) {
	for part := range strings.SplitSeq(text, ",") {
		o, ok := parseObjective(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("objective %q: want one such as p99<5ms, max<=1s, mean<2ms, errors<0.1%%, 503<1%%, Unavailable<1%% or rate>=990", part)
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
	o = Objective{Of: m[1], Is: m[2], text: text}
	var err error
	switch {
	case o.latency():
		var d time.Duration
		d, err = time.ParseDuration(m[3])
		o.Bound = float64(d)
		if strings.HasPrefix(o.Of, "p") {
			p, err := strconv.ParseFloat(o.Of[1:], 64)
			ok = err != nil || !(p > 0 && p <= 100)
		}
	case o.Of == "rate":
		o.Bound, err = strconv.ParseFloat(m[3], 64)
	default:
		number, share := strings.CutSuffix(m[3], "%")
		o.Bound, err = strconv.ParseFloat(number, 64)
		ok = !share || o.Bound > 100
		o.Bound /= 100
		if n, err := strconv.Atoi(o.Of); err == nil {
			o.Of = StatusName(n) // by which Missed looks for it
		}
	}
	return o, !ok && err == nil && (o.Bound > 0 || o.Bound == 0 && o.Is != "<")
}

// latency reports whether the objective is about a latency.
func (o Objective) latency() bool {
	return o.Of == "max" || o.Of == "mean" || strings.HasPrefix(o.Of, "p")
}

// Counts reports whether the objective says how many requests may fail, or have a status.
func (o Objective) Counts() bool { return !o.latency() && o.Of != "rate" }

// percentile is that which the generator must have been on time at.
func (o Objective) percentile() float64 {
	switch o.Of {
	case "max":
		return 100
	case "mean":
		return 99
	}
	p, _ := strconv.ParseFloat(o.Of[1:], 64) // it was parsed before
	return p
}

func (o Objective) String() string { return o.text }

// Missed returns why a result misses the objective, "" if it keeps it. A latency that is the
// generator's own always misses.
func (o Objective) Missed(r *Result) string {
	var got float64
	is := func() string { return fmt.Sprintf("%s is %v", o.Of, time.Duration(got).Round(time.Microsecond)) }
	switch {
	case o.latency():
		if why := r.unsure(o.percentile()); why != "" {
			return why
		}
		got = float64(r.Latency.ValueAtQuantile(o.percentile()))
		if o.Of == "mean" {
			got = r.Latency.Mean()
		}
	case o.Of == "rate":
		got = r.Achieved
		is = func() string { return fmt.Sprintf("the rate is %.4g", got) }
	case o.Of == "errors":
		got = float64(r.Failed()) / float64(max(1, r.Done))
		is = func() string { return fmt.Sprintf("%.3g%% of requests failed", 100*got) }
	default:
		for status, n := range r.Statuses {
			name := StatusName(status)
			if class, all := strings.CutSuffix(o.Of, "xx"); name == o.Of || all && len(name) == 3 && name[:1] == class {
				got += float64(n) / float64(max(1, r.Done))
			}
		}
		is = func() string { return fmt.Sprintf("%.3g%% of answers are %s", 100*got, o.Of) }
	}
	if o.Is == "<" && got < o.Bound || o.Is == "<=" && got <= o.Bound || o.Is == ">" && got > o.Bound || o.Is == ">=" && got >= o.Bound {
		return ""
	}
	return is()
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
	if failed := r.Failed(); failed > 0 && !slices.ContainsFunc(objectives, Objective.Counts) {
		return fmt.Sprintf("%d requests failed", failed), false
	}
	if why := r.Shortfall(); why != "" {
		return why, false
	}
	for _, o := range objectives {
		if why := o.Missed(r); why != "" {
			return why, o.latency() && r.unsure(o.percentile()) != "" && !r.overloaded()
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

// Search finds the highest rate that keeps the objectives. It doubles p's constant rate until it
// fails, then halves the interval until it is within 5%. It returns a result at the highest rate
// that held, nil if none did, and the last try that failed, which says what the limit was. told is
// called after each try.
func Search(ctx context.Context, p Plan, objectives []Objective, told func(Try)) (best *Result, limit Try, err error) {
	low, high := 0.0, 0.0
	constant, ok := p.Pacer.(Constant)
	if !ok || constant.Rate == 0 {
		return nil, limit, errors.New("load: a search begins with a constant rate")
	}
	for rate := constant.Rate; ; {
		p.Pacer = Constant{rate, constant.For}
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
