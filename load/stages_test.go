package load

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The time at which a request is due is the inverse of how many are due.
func TestStagesInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stages Stages
		var all float64
		for range rapid.IntRange(1, 4).Draw(t, "stages") {
			rate := rapid.OneOf(rapid.Just(0.0), rapid.Just(100.0), rapid.Float64Range(0, 1e5))
			s := Stage{time.Duration(rapid.Int64Range(1e6, 1e11).Draw(t, "duration")), rate.Draw(t, "from"), rate.Draw(t, "to")}
			stages = append(stages, s)
			all += (s.From + s.To) / 2 * s.Duration.Seconds()
		}
		n := all * rapid.Float64Range(0, 0.999999).Draw(t, "share")
		at := stages.dueAfter(n)
		if back := planned(stages, at); !(math.Abs(back-n) <= 1e-6*(1+all)) {
			t.Fatalf("%v: request %v is due at %v, when %v are", stages, n, at, back)
		}
	})
}

// planned returns how many requests are due within so many seconds.
func planned(stages Stages, until float64) (n float64) {
	for _, s := range stages {
		d := s.Duration.Seconds()
		t := min(until, d)
		n += s.From*t + (s.To-s.From)/(2*d)*t*t
		if until -= d; until <= 0 {
			break
		}
	}
	return n
}

// A rate so small that its square is 0 has no request at infinity.
func TestStagesAlmostNothing(t *testing.T) {
	t.Parallel()
	if at := (Stages{{time.Millisecond, 0, 4e-115}}).dueAfter(1.5e-213); at > 0.001 {
		t.Errorf("a request of a stage of 1 ms is due after %v s", at)
	}
}

// On a ramp, most requests come late.
func TestRamp(t *testing.T) {
	t.Parallel()
	stages, err := ParseStages("500ms:0..400, 500ms:400..0")
	if requests, lasts := stages.Span(); err != nil || requests != 200 || lasts != time.Second {
		t.Fatal(stages, requests, lasts, err)
	}
	var dues []time.Time
	r, err := Run(t.Context(), Plan{Pacer: stages, Lines: []Line{lineFunc(func(_ context.Context, w *Work) {
		for {
			taken, ok := w.take(time.Time{})
			due := taken.due
			if !ok {
				return
			}
			dues = append(dues, due)
			w.done(-1, taken, due, due, 0, nil)
		}
	})}})
	if err != nil || r.Done != 200 {
		t.Fatal(err, r.Done)
	}
	first := 0
	for _, due := range dues {
		if due.Sub(dues[0]) < 250*time.Millisecond {
			first++
		}
	}
	if first < 20 || first > 30 { // a quarter of the first half's hundred
		t.Errorf("%d requests were due in the first quarter, want 25", first)
	}
	for _, text := range []string{"", "1s", "1s:", "0s:5", "1s:5..", "1s:-1..5", "1s:NaN", "1s:0", "1s:5,", "1s:0..+Inf"} {
		if got, err := ParseStages(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// Each answer belongs to exactly one interval.
func TestIntervals(t *testing.T) {
	t.Parallel()
	var told, failed, inHistograms int64
	var last time.Duration
	var n atomic.Int64
	r, err := Run(t.Context(), Plan{Pacer: Constant{500, 600 * time.Millisecond}, Every: 50 * time.Millisecond,
		Told: func(in Interval) {
			if in.From != last || in.To < in.From {
				t.Errorf("from %v to %v after %v", in.From, in.To, last)
			}
			last = in.To
			told += in.Done
			failed += in.Failed
			inHistograms += in.Latency.TotalCount()
		},
		Lines: lines(senderFunc(func(context.Context) error {
			if n.Add(1)%3 == 0 {
				return context.DeadlineExceeded
			}
			return nil
		}))})
	if err != nil || told != r.Done || failed != r.Failed() || inHistograms != r.Done || r.Done != 300 || failed != 100 {
		t.Errorf("%v: %d answers were told of, %d failed; %d and %d came", err, told, failed, r.Done, r.Failed())
	}
}
