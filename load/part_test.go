package load

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type answering struct{}

func (answering) Send(context.Context) (int, error) { return 200, nil }

// The requests of a plan are divided among its workers, none twice and none left out. Their
// histograms are added bucket by bucket, in any order, however often they are reported.
func TestMerge(t *testing.T) {
	const workers = 3
	plan := Plan{Rate: 1001, Duration: time.Second, Workers: workers}
	sum := hdrhistogram.New(1, slowest.Nanoseconds(), 3)
	var parts []Part
	for i := range workers {
		p := plan
		p.Worker, p.Lines = i, []Line{OneAtATime(answering{})}
		result, err := Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		sum.Merge(result.Latency)
		part, err := result.Part()
		if err != nil {
			t.Fatal(err)
		}
		part.Worker, part.Invalid = i, "" // it may have been late on a busy machine
		parts = append(parts, part)
	}
	merged, err := Merge(&plan, parts)
	if err != nil {
		t.Fatal(err)
	}
	if merged.Planned != 1001 || merged.Done != 1001 || merged.NotSent != 0 || !merged.Latency.Equals(sum) {
		t.Errorf("planned %d, done %d, not sent %d, equal %v", merged.Planned, merged.Done, merged.NotSent, merged.Latency.Equals(sum))
	}
	slices.Reverse(parts)
	parts[0].Invalid = "late"
	again, err := Merge(&plan, parts[:2])
	if err != nil {
		t.Fatal(err)
	}
	if again.NotSent != 334 || again.Invalid() != "worker 2 (): late" {
		t.Errorf("without worker 0: not sent %d, %q", again.NotSent, again.Invalid())
	}
}

// A worker that begins late leaves out requests that were due before.
func TestReadyLate(t *testing.T) {
	plan := Plan{Rate: 100, Duration: 2 * time.Second, Worker: 1, Workers: 2, Lines: []Line{OneAtATime(answering{})}}
	began := false
	plan.Ready = func(context.Context) (time.Time, error) { return time.Now().Add(-1 * time.Second), nil }
	plan.Began = func(soFar func() *Result) { began = soFar().Done == 0 }
	result, err := Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Planned < 1 || result.Planned > 50 || !began {
		t.Errorf("%d requests of the second half, began %v", result.Planned, began)
	}
}
