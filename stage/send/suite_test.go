package send

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"postage/internal/sys/link"
	"postage/internal/sys/machine"
	"postage/internal/sys/proc"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// The test program is its own server and its own worker, as postage is.
func TestMain(m *testing.M) {
	proc.ServeIfStarted(Suite().Servers)
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		out := os.Stdout
		os.Stdout = os.Stderr
		if err := lab.ServeWorker(context.Background(), []lab.Suite{Suite()}, os.Stdin, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestNames(t *testing.T) {
	if err := lab.Check([]lab.Suite{Suite()}); err != nil {
		t.Error(err)
	}
	for _, c := range Suite().Made(nil) {
		if !strings.HasSuffix(c.Doc, "?") {
			t.Errorf("%s asks nothing: %q", c.Name, c.Doc)
		}
	}
}

func TestEveryContenderProves(t *testing.T) {
	ctx := context.Background()
	for _, c := range Suite().Made(lab.Choices{"size": {"hello", "1m"}, "inflight": {"8", "64"}}) {
		t.Run(strings.TrimPrefix(c.Name, "Send/"), func(t *testing.T) {
			for _, contender := range c.Contenders {
				t.Run(contender.Name, func(t *testing.T) {
					if contender.NotPossible != "" {
						t.Skip("not possible: " + contender.NotPossible)
					}
					prove(t, ctx, contender)
				})
			}
		})
	}
}

func prove(t *testing.T, ctx context.Context, contender lab.Contender) {
	t.Helper()
	in, err := contender.Open(ctx, lab.Env{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	if err := in.Prove(ctx); err != nil {
		t.Fatal(err)
	}
	counters := func() map[string]float64 {
		c, err := in.(lab.Counted).Counters()
		if errors.Is(err, link.ErrBusy) {
			t.Skipf("proven; not counted: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := in.(lab.Prepared).Prepare(); err != nil { // fasthttp gives up what is idle
		t.Fatal(err)
	}
	before := counters()
	in.(lab.Distributed).Latencies()
	const n = 10
	if err := in.Run(n); err != nil {
		t.Fatal(err)
	}
	after := counters()
	for unit, value := range after {
		if value <= before[unit] && unit != "server-cpu-ns/op" && !strings.HasPrefix(unit, "link-") {
			t.Errorf("%s went from %v to %v in %d operations", unit, before[unit], value, n)
		}
	}
	if got := in.(lab.Distributed).Latencies().TotalCount(); got != n {
		t.Errorf("%d latencies of %d operations", got, n)
	}
}

// The lab itself reports no fault: it looks for leaks after every row.
func TestLab(t *testing.T) {
	patterns := []string{"Send/slice=resume/resume=0rtt"}
	if os.Getenv("POSTAGE_LONG") != "" {
		patterns = append(patterns, "Send/slice=inflight/conns=8")
	}
	command, err := proc.Self("worker")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := lab.Select([]lab.Suite{Suite()}, patterns)
	if err != nil {
		t.Fatal(err)
	}
	rec := lab.NewRecord(lab.Plan{Entries: entries},
		record.Run{Seed: 7, Precision: 1000, Budget: 10 * time.Minute, GOMAXPROCS: 2}, machine.Read(0))
	if err := (&lab.Conductor{Command: command}).Run(context.Background(), entries, rec); err != nil {
		t.Fatal(err)
	}
	for _, c := range verdict.Analyze(rec).Cases {
		for _, r := range c.Rows {
			if r.Row.Proof.Is(record.ProofNotPossible) {
				continue
			}
			if r.NSOp == nil {
				t.Errorf("%s: %s", r.Row.Name, r.Row.Proof)
				continue
			}
			for _, unit := range []string{"server-cpu-ns/op", "server-allocs/op", "server-B/op", "wire-out-B/op", "wire-in-B/op", "p99-ns"} {
				if !(r.Metrics[unit] > 0) {
					t.Errorf("%s: %s is %v", r.Row.Name, unit, r.Metrics[unit])
				}
			}
		}
	}
}
