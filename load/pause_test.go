//go:build unix

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The time in which the generator did not run is not the server's: with the generator stopped for
// 300 ms of every second, the server's p99 is at least what it would be on this machine without
// that, and at most the pause.
func TestPausesAreTheGenerators(t *testing.T) {
	for _, proto := range []string{"http1", "http2", "http1 cookies"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			r := stopped(t, proto, 300*time.Millisecond, time.Second, 0)
			least, most, bounded := r.Between(99)
			if least > 200*time.Millisecond || !bounded || most < 240*time.Millisecond || r.OnTime(99) {
				t.Errorf("p99 is between %v and %v, on time: %v", least, most, r.OnTime(99))
			}
			if r.Done != 1500 || r.Failed() > 0 {
				t.Errorf("%d answers, %v", r.Done, r.Errors)
			}
			if why, _ := objectives(t, "p99<5s")[0].Missed(r); why != "" {
				t.Errorf("an upper bound proves p99<5s: %s", why)
			}
			why, generator := Missed(r, objectives(t, "p99<220ms"))
			if !strings.Contains(why, "the generator was the limit: p99 is between") || !generator {
				t.Errorf("%q, the generator's: %v", why, generator)
			}
			var table strings.Builder
			if err := r.WriteTable(&table); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(table.String(), "the rest may be the generator's own") {
				t.Error(table.String())
			}
		})
	}
}

// And the server's standstill stays the server's, whether the generator is stopped for a moment or
// not.
func TestStandstillBesidePauses(t *testing.T) {
	t.Parallel()
	r := stopped(t, "http1", 20*time.Millisecond, time.Second, 500*time.Millisecond)
	least, most, _ := r.Between(95)
	if least < 200*time.Millisecond {
		t.Errorf("p95 is between %v and %v: the standstill is the server's", least, most)
	}
}

// stopped loads a server at 500 requests a second for three seconds, in a process that is stopped
// for a time of every second. The server stands still for a time of each second.
func stopped(t *testing.T, proto string, pause, every, standstill time.Duration) *Result {
	t.Helper()
	began := time.Now()
	server := serving(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if since := time.Since(began) % time.Second; since < standstill {
			time.Sleep(standstill - since)
		}
	}))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestPausedProcess")
	cmd.Env = append(os.Environ(), "POSTAGE_PAUSED="+server.URL, "POSTAGE_PAUSED_BY="+proto)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	pausing := make(chan struct{})
	go func() {
		defer close(pausing)
		for ctx.Err() == nil {
			time.Sleep(every - pause)
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(pause)
			_ = cmd.Process.Signal(syscall.SIGCONT)
		}
	}()
	text, err := io.ReadAll(out)
	cancel()
	<-pausing
	if wait := cmd.Wait(); err != nil || wait != nil {
		t.Fatal(err, wait)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return resultOf(t, first)
}

// resultOf reads what TestPausedProcess printed.
func resultOf(t *testing.T, text string) *Result {
	t.Helper()
	var part Part
	if err := json.Unmarshal([]byte(text), &part); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	r := &Result{Counts: part.Counts, Use: part.Use, Rate: 500, Planned: 1500}
	r.Use.BusyCPU = 0
	r.Use.CPU = 0
	r.Processors = 1
	r.sumUp()
	return r
}

// TestPausedProcess is the process that stopped starts.
func TestPausedProcess(t *testing.T) {
	address := os.Getenv("POSTAGE_PAUSED")
	if address == "" {
		t.Skip("other tests start it")
	}
	u := parsed(t, address)
	proto, cookies := strings.CutSuffix(os.Getenv("POSTAGE_PAUSED_BY"), " cookies")
	pool := opened(t, &Target{Proto: proto, Conns: 10, Streams: 1, Cookies: cookies, Request: Request{URL: u}})
	r := measured(t, Plan{Pacer: Constant{500, 3 * time.Second}, Lines: pool.Lines})
	text, err := json.Marshal(r.Part())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(text))
}

// The limits of the generator's own machine are no failures of the server, and a run that met them
// is not valid.
func TestOwnLimits(t *testing.T) {
	t.Parallel()
	full := senderFunc(func(context.Context) error { return os.NewSyscallError("connect", syscall.EADDRNOTAVAIL) })
	well := senderFunc(func(context.Context) error { return nil })
	r := measured(t, Plan{Pacer: Constant{100, 200 * time.Millisecond}, Lines: lines(full, well)})
	if r.Failed() != 0 || r.Account.NotSent == 0 || r.Done+r.Account.NotSent != 20 || !strings.Contains(r.Invalid(), "requests were not sent, as no local port is free") {
		t.Errorf("%d failed, %d not sent, %d answered: %q", r.Failed(), r.Account.NotSent, r.Done, r.Invalid())
	}
}

// Requests that were never sent are neither requests of the server's nor failures: the accounts add
// up.
func TestAccount(t *testing.T) {
	t.Parallel()
	slow := senderFunc(func(context.Context) error { time.Sleep(20 * time.Millisecond); return nil })
	r := measured(t, Plan{Pacer: Constant{1000, 300 * time.Millisecond}, Patience: 50 * time.Millisecond, Lines: lines(slow)})
	s := r.Summary()
	if r.Account.NotSent < 200 || s.Due != 300 || s.Due != s.Sent+s.NotSent || s.Sent != s.Answered+s.Failed+s.Unanswered || s.Failed > 1 {
		t.Errorf("%+v", s)
	}
}
