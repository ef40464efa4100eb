package load

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type answering struct{}

func (answering) Connect(context.Context) error { return nil }

func (answering) Serve(_ context.Context, w *Work) {
	serve(w, func() outcome { return outcome{status: 200} })
}

// reported is a result's part as it comes from a worker.
func reported(t *testing.T, r *Result) (part Part) {
	t.Helper()
	text, err := json.Marshal(r.Part())
	if err == nil {
		err = json.Unmarshal(text, &part)
	}
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// The requests of a plan are divided among its workers, none twice and none left out. Their
// histograms are added bucket by bucket, in any order, however often they are reported.
func TestMerge(t *testing.T) {
	t.Parallel()
	const workers = 3
	plan := Plan{Pacer: Constant{1001, time.Second}, Workers: workers}
	sum := hdrhistogram.New(1, slowest.Nanoseconds(), 3)
	var parts []Part
	for i := range workers {
		p := plan
		p.Worker, p.Lines = i, []Line{answering{}}
		result := measured(t, p)
		sum.Merge(result.Latency.Histogram)
		result.Account.SentOnTime = result.Done // a busy machine may be late
		part := reported(t, result)
		part.Worker, part.Invalid = i, ""
		parts = append(parts, part)
	}
	merged := Merge(&plan, parts, time.Hour)
	if merged.Planned != 1001 || merged.Done != 1001 || merged.Account.NotSent != 0 || !merged.Latency.Equals(sum) {
		t.Errorf("planned %d, done %d, not sent %d, equal %v", merged.Planned, merged.Done, merged.Account.NotSent, merged.Latency.Equals(sum))
	}
	slices.Reverse(parts)
	parts[0].Invalid = "late"
	again := Merge(&plan, parts[:2], time.Hour)
	if why := again.Shortfall(); !strings.HasSuffix(why, "workers ended early") {
		t.Errorf("without worker 0: %q", why)
	}
	if again.Account.NotSent != 334 || again.Invalid() != "worker 2 (): late" {
		t.Errorf("without worker 0: not sent %d, %q", again.Account.NotSent, again.Invalid())
	}
}

// The workers of a Poisson plan together send as many requests as can be counted beforehand. A
// successor of one continues with the same requests.
func TestMergePoisson(t *testing.T) {
	t.Parallel()
	const workers = 3
	plan := Plan{Pacer: Constant{1000, time.Second}, Workers: workers, Poisson: true, Seed: 17}
	var parts []Part
	for i := range workers {
		p := plan
		p.Worker, p.Lines = i, []Line{answering{}}
		result := measured(t, p)
		part := reported(t, result)
		part.Worker = i
		parts = append(parts, part)
	}
	merged := Merge(&plan, parts, time.Hour)
	if merged.Planned == 1000 || merged.Planned < 850 || merged.Planned > 1150 || merged.Done != merged.Planned || merged.Account.NotSent != 0 {
		t.Errorf("planned %d, done %d, not sent %d", merged.Planned, merged.Done, merged.Account.NotSent)
	}

	dues := func(r *run) (all []time.Duration) {
		for due, ok := r.pacing.arrive(); ok; due, ok = r.pacing.arrive() {
			all = append(all, due)
		}
		return all
	}
	whole, late := &run{pacing: pacing{arrive: plan.arrivals()}}, &run{pacing: pacing{arrive: plan.arrivals()}}
	late.skip(500 * time.Millisecond)
	all, rest := dues(whole), dues(late)
	if len(rest) == 0 || len(rest) == len(all) || rest[0] < 500*time.Millisecond || !slices.Equal(rest, all[len(all)-len(rest):]) || all[len(all)-len(rest)-1] >= 500*time.Millisecond {
		t.Errorf("of %d requests the successor has %d, from %v on", len(all), len(rest), rest[0])
	}
}

// What a worker had under way when it was last heard of is sent and unanswered, so that the account
// is true; and requests that failed unsent are not counted again as not sent. A plan that was
// stopped is judged by the time that it lasted.
func TestMergeAccount(t *testing.T) {
	t.Parallel()
	under := &Result{Counts: Counts{Latency: newLatencies(), Least: newLatencies(), Account: Account{SentOnTime: 60}, Messages: Messages{Sent: 7, Received: 5, Latency: newLatencies()}}}
	for range 50 {
		record(under.Latency, time.Millisecond)
	}
	under.Account.Begun = 60
	record(under.Messages.Latency, time.Second)
	under.Done = 50
	unsent := &Result{Counts: Counts{Latency: newLatencies(), Least: newLatencies(), Errors: map[string]int64{errNoAnswer.Error(): 30}}}
	for range 30 {
		record(unsent.Latency, time.Second)
	}
	unsent.Done = 30
	var parts []Part
	for i, r := range []*Result{under, unsent} {
		part := reported(t, r)
		part.Worker, part.Invalid = i, ""
		parts = append(parts, part)
	}
	r := Merge(&Plan{Pacer: Constant{100, 2 * time.Second}}, parts, time.Second)
	if r.Done != 80 || r.Account.Unanswered != 10 || r.Account.NotSent != 110 || r.Failed() != 30 {
		t.Errorf("%d done, %d unanswered, %d not sent, %d failed: want 80, 10, 110, 30", r.Done, r.Account.Unanswered, r.Account.NotSent, r.Failed())
	}
	if r.Achieved != 60 {
		t.Errorf("%.0f/s achieved in one second, want 60", r.Achieved)
	}
	if r.Messages.Sent != 7 || r.Messages.Received != 5 || r.Messages.Latency.TotalCount() != 1 {
		t.Errorf("%d messages sent and %d received, want 7 and 5", r.Messages.Sent, r.Messages.Received)
	}
}

// A worker that begins late leaves out requests that were due before.
func TestReadyLate(t *testing.T) {
	t.Parallel()
	plan := Plan{Pacer: Constant{100, 2 * time.Second}, Worker: 1, Workers: 2, Lines: []Line{answering{}}}
	began := false
	plan.Ready = func(context.Context) (time.Time, error) { return time.Now().Add(-1 * time.Second), nil }
	plan.Began = func(soFar func() *Result) { began = soFar().Done == 0 }
	result := measured(t, plan)
	if result.Planned < 1 || result.Planned > 50 || !began {
		t.Errorf("%d requests of the second half, began %v", result.Planned, began)
	}
}
