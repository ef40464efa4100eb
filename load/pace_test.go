package load

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test of our own code alone by a clock that stands still while anything runs, so
// that a busy machine changes nothing. With one processor a pacer sleeps by that clock too. The
// tests that run beside others would see that one processor, so this one does not.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, test)
}

// A server whose answers take long is not below its rate: all requests were sent on time.
func TestSlowAnswersDoNotLowerTheRate(t *testing.T) { bubble(t, testSlowAnswersDoNotLowerTheRate) }

func testSlowAnswersDoNotLowerTheRate(t *testing.T) {
	var senders []senderFunc
	for range 40 {
		senders = append(senders, senderFunc(func(context.Context) error { time.Sleep(time.Second); return nil }))
	}
	r := measured(t, Plan{Pacer: Constant{20, 5 * time.Second}, Lines: lines(senders...)})
	if why := r.Shortfall(); why != "" || r.Achieved != 20 {
		t.Errorf("%.1f/s, %q", r.Achieved, why)
	}
}

// But one that cannot take more is.
func TestShortfall(t *testing.T) { bubble(t, testShortfall) }

func testShortfall(t *testing.T) {
	r := measured(t, Plan{Pacer: Constant{100, time.Second}, Patience: time.Millisecond, Lines: lines(
		senderFunc(func(context.Context) error { time.Sleep(20 * time.Millisecond); return nil }))})
	if r.Shortfall() == "" || r.Achieved > 60 {
		t.Errorf("%.1f/s, %q", r.Achieved, r.Shortfall())
	}
}

// A stall is seen when it is interrupted: requests under way, and those that were due but could not
// be sent, count as at least as long as they have waited.
func TestInterruptDuringStandstill(t *testing.T) { bubble(t, testInterruptDuringStandstill) }

func testInterruptDuringStandstill(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	time.AfterFunc(895*time.Millisecond, cancel)
	r, err := Run(ctx, Plan{Pacer: Constant{100, time.Hour}, Lines: lines(senderFunc(func(ctx context.Context) error {
		if n++; n > 10 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}))})
	if err != nil {
		t.Fatal(err)
	}
	if r.Done != 10 || r.Account.Unanswered != 1 || r.Account.NotSent < 78 || r.Account.NotSent > 80 { // with one that is due before it is noticed
		t.Errorf("%d answered, %d not, %d not sent, want 10, 1 and some 79", r.Done, r.Account.Unanswered, r.Account.NotSent)
	}
	if p50, _, bounded := r.Between(50); p50 < 340*time.Millisecond || bounded {
		t.Errorf("p50 is at least %v: the standstill is hidden", p50)
	}
	if r.Invalid() == "" {
		t.Error("an interruption makes a run valid in which nine of ten requests were not sent")
	}
}

// How busy the generator was is about the time in which it sent: an answer that comes long after
// does not make it less busy.
func TestBusyIsNotDiluted(t *testing.T) {
	burn := senderFunc(func(context.Context) error {
		for begin := time.Now(); time.Since(begin) < 5*time.Millisecond; {
		}
		return nil
	})
	slow := true
	straggler := senderFunc(func(context.Context) error {
		if slow {
			time.Sleep(2 * time.Second)
			slow = false
		}
		return nil
	})
	r := measured(t, Plan{Pacer: Constant{0, 300 * time.Millisecond}, Lines: lines(burn, straggler)})
	if r.CPU < 0 {
		t.Skip("the process's CPU time is not known here")
	}
	if r.Elapsed < 2*time.Second || r.BusyFor < 300*time.Millisecond || r.BusyFor >= r.Elapsed {
		t.Errorf("busy in %v of %v, want 300ms of 2s", r.BusyFor, r.Elapsed)
	}
	if want := r.BusyCPU.Seconds() / r.BusyFor.Seconds() / float64(r.Processors); r.Busy() != want || want == 0 {
		t.Errorf("busy %.2f, want %.2f", r.Busy(), want)
	}
}

// A percentile that the generator may have made longer is shown as an interval.
func TestLatenessOfTheTail(t *testing.T) {
	t.Parallel()
	r := fabricated()
	for range 100_000 {
		record(r.Latency, 10*time.Millisecond)
		record(r.Least, 10*time.Millisecond)
		r.Done++
	}
	for range 50 {
		record(r.Latency, 30*time.Millisecond)
		record(r.Least, 9*time.Millisecond)
	}
	if why := r.Invalid(); why != "" {
		t.Fatal(why)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "p99.9   10ms") || !strings.Contains(table.String(), "p99.99  10ms to 30") || !strings.Contains(table.String(), "max     10ms to 30") {
		t.Error(table.String())
	}
}

func fabricated() *Result {
	r := &Result{Rate: 100, Achieved: 100, Planned: 100, Counts: newCounts(), Use: Use{Elapsed: time.Second, Processors: 2, CPU: time.Second}}
	r.Account.SentOnTime = 100
	return r
}

// At random times, requests come as often as asked for on average, and unevenly.
func TestPoisson(t *testing.T) {
	t.Parallel()
	var last time.Time
	var gaps []float64
	r := measured(t, Plan{Pacer: Constant{2000, time.Second}, Poisson: true, Lines: []Line{lineFunc(func(_ context.Context, w *Work) {
		for {
			taken, ok := w.take(time.Time{})
			due := taken.due
			if !ok {
				return
			}
			if !last.IsZero() {
				gaps = append(gaps, due.Sub(last).Seconds())
			}
			last = due
			w.done(taken, due, due, 0, nil)
		}
	})}})
	if r.Done < 1700 || r.Done > 2300 {
		t.Errorf("%d requests, want some 2000", r.Done)
	}
	var sum, squares float64
	for _, g := range gaps {
		sum += g
		squares += g * g
	}
	n := float64(len(gaps))
	if mean := sum / n; squares/n/mean/mean-1 < 0.7 || squares/n/mean/mean-1 > 1.4 { // an exponential distribution's is 1
		t.Errorf("the gaps' squared coefficient of variation is %.2f", squares/n/mean/mean-1)
	}
}

type lineFunc func(ctx context.Context, w *Work)

func (lineFunc) Connect(context.Context) error { return nil }

func (f lineFunc) Serve(ctx context.Context, w *Work) { f(ctx, w) }

// A run whose requests are all answered long before its end does not count as busy to the end.
func TestBusyOfAShortRun(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Plan{Pacer: Constant{1, 500 * time.Millisecond}, Lines: lines(senderFunc(func(context.Context) error {
		for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		}
		return nil
	}))})
	if err != nil || r.BusyFor < 500*time.Millisecond {
		t.Errorf("%v, busy for %v", err, r.BusyFor)
	}
}
