package loadagainst

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/chromedp/chromedp"

	"postage/internal/kit/report"
	"postage/internal/sys/machine"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
	"postage/load"
	"postage/record"
)

// drawn is a record of two servers whose latencies are drawn: lognormal about 1 ms, with a moment of
// the machine that both sides of a pair share. change alters the new side's latency of a request.
func drawn(rng *rand.Rand, blocks, pairs, requests int, change func(ns float64) (float64, bool)) *record.Record {
	var s Sides
	for i := range s {
		s[i].Name = []string{"HEAD", "<b>the working tree"}[i]
		s[i].target = &load.Target{Proto: "http1", Request: load.Request{URL: &url.URL{Path: "/orders"}}}
	}
	rec := NewRecord(&s, &Turns{Rate: 1000}, record.Machine{GOOS: "linux"}, time.Hour)
	for number := range blocks {
		var both [2]counts
		for i := range both {
			both[i].totals = map[string]float64{"late/op": 0, "errors/op": 0}
			both[i].latency = load.Histogram{Histogram: hdrhistogram.New(1, int64(time.Minute), 3)}
		}
		for range pairs {
			moment := math.Exp(0.3 * rng.NormFloat64())
			for side := range both {
				c := &both[side]
				for range requests {
					ns, ok := 1e6*moment*math.Exp(0.5*rng.NormFloat64()), true
					if side == 1 {
						ns, ok = change(ns)
					}
					if !ok {
						c.totals[failed+"status_500/op"]++
						c.totals["errors/op"]++
					}
					_ = c.latency.RecordValue(int64(ns))
					c.totals[record.ServerCPU] += 20e3 * math.Exp(0.2*rng.NormFloat64())
				}
				c.due += float64(requests)
			}
		}
		block := record.Block{Case: rec.Rows[0].Case, Number: number + 1}
		for i := range both {
			text, err := both[i].latency.MarshalText()
			if err != nil {
				panic(err)
			}
			both[i].slices = []string{string(text)}
			block.Series = append(block.Series, both[i].series(rec, i))
		}
		rec.Blocks = append(rec.Blocks, block)
	}
	return rec
}

func analyzed(rec *record.Record, limits ...string) *verdict.Changes {
	l := Limits{}
	for _, text := range limits {
		if err := l.Set(text); err != nil {
			panic(err)
		}
	}
	return Analyze(rec, l)
}

func figure(t *testing.T, c *verdict.Changes, name string) *verdict.MetricChange {
	t.Helper()
	for _, m := range figures(c) {
		if names.Replace(m.Unit) == name {
			return &m
		}
	}
	t.Fatalf("%s is missing: %v", name, c.Warnings)
	return nil
}

// Equal sides are seldom called different, and their intervals contain 1 as often as they say.
func TestEqualSides(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 200
	different, contained := 0, 0
	for range runs {
		result := analyzed(drawn(rng, 12, 3, 120, func(ns float64) (float64, bool) { return ns, true }))
		for _, f := range figures(result) {
			if f.Verdict == verdict.Higher || f.Verdict == verdict.Lower {
				different++
			}
		}
		if figure(t, result, "p90").Ratio.Contains(1) {
			contained++
		}
	}
	if different > 0.02*runs+6 || contained < 0.90*runs || contained > 0.99*runs {
		t.Errorf("%d figures of %d comparisons were called different, %d intervals of p90 contain 1", different, runs, contained)
	}
}

// A change is found by its figure, and by no other.
func TestChangesAreFoundByTheirFigures(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for name, test := range map[string]struct {
		change  func(ns float64) (float64, bool)
		figures string
	}{
		"2% of requests sleep": {func(ns float64) (float64, bool) {
			if rng.Float64() < 0.02 {
				ns += 20e6
			}
			return ns, true
		}, "p90 p99 mean"},
		"all are slower": {func(ns float64) (float64, bool) { return 1.3 * ns, true }, "p50 p90 p99 mean"},
		"0.5% fail":      {func(ns float64) (float64, bool) { return ns, rng.Float64() >= 0.005 }, "errors status 500"},
	} {
		result := analyzed(drawn(rng, 12, 5, 300, test.change))
		for _, f := range figures(result) {
			want := strings.Contains(" "+test.figures+" ", " "+names.Replace(f.Unit)+" ")
			if (f.Verdict == verdict.Higher) != want || f.Verdict == verdict.Lower {
				t.Errorf("%s: %s is %q (%s, p %.3g), want higher: %v", name, f.Unit, f.Verdict, change(f), f.P, want)
			}
		}
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	slower := drawn(rng, 12, 5, 300, func(ns float64) (float64, bool) { return 1.3 * ns, true })
	noisy := drawn(rng, 4, 1, 350, func(ns float64) (float64, bool) { return ns, true })
	for text, test := range map[string]struct {
		rec  *record.Record
		want verdict.Outcome
	}{
		"p50:5%": {slower, verdict.Regressed}, "p50:60%": {slower, verdict.Passed}, "errors:0": {slower, verdict.Passed},
		"p90:1%": {noisy, verdict.Inconclusive}, "allocs:0": {slower, verdict.Inconclusive},
	} {
		if got := analyzed(test.rec, text); got.Outcome() != test.want {
			t.Errorf("%s: %v, want %v: %+v", text, got.Outcome(), test.want, figures(got))
		}
	}
	if err := (Limits{}).Set("p42:5%"); err == nil || !strings.Contains(err.Error(), "errors, late, mean, p50") {
		t.Errorf("p42: %v", err)
	}
	for _, text := range []string{"p42:5%", "p99", "p99:5", "p99:-1%", "errors:x%"} {
		if err := (Limits{}).Set(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// A browser draws the page: what is drawn lies within its plot, and both curves have a length.
func TestPageInBrowser(t *testing.T) {
	ctx := reporttest.Browser(t)
	r := analyzed(drawn(rand.New(rand.NewPCG(7, 8)), 12, 3, 120, func(ns float64) (float64, bool) { return 1.3 * ns, true }))
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:)?//|<b>the|ZgotmplZ`).Find(page.Bytes()); m != nil {
		t.Errorf("it loads something, or text became markup, or the template rejected a value: %s", m)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, page.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	var heard reporttest.Complaints
	heard.Listen(t, ctx, "file://"+file)
	reporttest.Do(t, ctx, chromedp.Navigate("file://"+file))
	text := reporttest.Value(t, ctx, chromedp.Evaluate[string]("document.body.innerText"))
	for _, want := range []string{"the working tree instead of HEAD", "higher", "Distribution of latency", "p99"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown: %s", want, text)
		}
	}
	if wrong := reporttest.Value(t, ctx, chromedp.Evaluate[string](`Array.from(document.querySelectorAll("svg.load text")).filter(c => {
		const b = c.getBoundingClientRect(), v = c.ownerSVGElement.getBoundingClientRect();
		return b.left < v.left || b.right > v.right || b.top < v.top - 1 || b.bottom > v.bottom + 1;
	}).map(c => c.textContent).join("") + Array.from(document.querySelectorAll("svg.load .curve")).map(c => {
		const b = c.getBBox(), v = c.ownerSVGElement.viewBox.baseVal;
		return c.getTotalLength() > 500 && b.x >= 60 && b.y >= 0 && b.x + b.width <= v.width && b.y + b.height <= v.height - 39 ? "" : c.getAttribute("class") + JSON.stringify(b);
	}).join("")`)); wrong != "" {
		t.Errorf("drawn outside, or not: %s", wrong)
	}
	reporttest.Accessible(t, ctx)
	heard.Tell(t)
}

// sides opens two servers of net/http.
func sides(t *testing.T, old, now http.HandlerFunc) *Sides {
	var s Sides
	for i, handler := range []http.HandlerFunc{old, now} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		target := &load.Target{Proto: "http1", Conns: 8, Streams: 1, Timeout: 5 * time.Second, Request: load.Request{URL: u}}
		s[i].Name = fmt.Sprint(i)
		if err := s[i].Open(t.Context(), target, fmt.Sprint(os.Getpid())); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.Close() })
	return &s
}

// Two real servers, where one fails and sleeps now and then, are told apart; the record is the
// same when it is read again, and goes on where it was cut off.
func TestRealServers(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	s := sides(t, func(http.ResponseWriter, *http.Request) {}, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%20 == 0 {
			time.Sleep(50 * time.Millisecond)
			w.WriteHeader(http.StatusTeapot)
		}
	})
	turns := &Turns{Plan: load.Plan{Patience: 10 * time.Second}, Rate: 1000}
	rec := NewRecord(s, turns, machine.Read(0), 6*time.Second)
	if err := s.Calibrate(t.Context(), turns, rec); err != nil {
		t.Fatal(err)
	}
	if h := turns; h.slice < shortestSlice || h.slice > longestSlice || h.settle < shortestSettle || h.settle > longestSettle || h.block < 1 {
		t.Errorf("%d slices of %v, the first %v not counted", h.block, h.slice, h.settle)
	}
	name := filepath.Join(t.TempDir(), "two.txt")
	enough := errors.New("enough")
	save := func() error { return rec.Save(name) }
	err := s.Run(t.Context(), turns, rec, func() error {
		if err := save(); err != nil || len(rec.Blocks) < 3 {
			return err
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if rec, err = record.Load(name); err != nil || len(rec.Blocks) != 3 || rec.Run.Complete {
		t.Fatalf("a record that was interrupted has %d blocks: %v", len(rec.Blocks), err)
	}
	if of := strings.Fields(rec.Blocks[0].Series[1].Latency); len(of) != turns.block {
		t.Errorf("a block has the latencies of %d slices, want %d", len(of), turns.block)
	}
	if err := s.Run(t.Context(), turns, rec, save); err != nil {
		t.Fatal(err)
	}
	var before, after strings.Builder
	result := Analyze(rec, nil)
	if err := Print(&before, result, report.Form{Wide: true}); err != nil {
		t.Fatal(err)
	}
	if f := figure(t, result, "errors"); f.Verdict != verdict.Higher || f.Old != 0 || math.Abs(f.New-0.05) > 0.01 {
		t.Errorf("errors: %q %s\n%s", f.Verdict, change(*f), before.String())
	}
	if f := figure(t, result, "p99"); f.New < 50e6 { // how much that is above the other side's, a busy machine hides
		t.Errorf("p99 %s\n%s", number(f.Unit, f.New), before.String())
	}
	if f := figure(t, result, "cpu"); f.Old <= 0 || f.New <= 0 {
		t.Errorf("CPU time a request is %v and %v", f.Old, f.New)
	}
	again, err := record.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := Print(&after, Analyze(again, nil), report.Form{Wide: true}); err != nil || after.String() != before.String() {
		t.Errorf("read again (%v):\n%s\nbefore:\n%s", err, after.String(), before.String())
	}
	if !again.Run.Complete || !strings.Contains(after.String(), "status 418 ") {
		t.Errorf("complete %v\n%s", again.Run.Complete, after.String())
	}
}

// At once, each side has half of the rate, while the other is busy too.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	var busy, served [2]atomic.Int64
	var together atomic.Int64
	handler := func(i int) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) {
			busy[i].Add(1)
			time.Sleep(10 * time.Millisecond)
			together.Add(min(1, busy[1-i].Load()))
			busy[i].Add(-1)
			served[i].Add(1)
		}
	}
	s := sides(t, handler(0), handler(1))
	turns := &Turns{Rate: 400, AtOnce: true}
	rec := NewRecord(s, turns, record.Machine{}, 2*time.Second)
	if err := s.Calibrate(t.Context(), turns, rec); err != nil {
		t.Fatal(err)
	}
	served[0].Store(0)
	if err := s.Run(t.Context(), turns, rec, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	// Each slice is in pairs, and what is not counted of it too.
	want := float64(len(rec.Blocks)*turns.block) * turns.Rate * (turns.slice + turns.settle).Seconds()
	if n := float64(served[0].Load()); math.Abs(n-want) > 0.05*want || together.Load() < int64(n) {
		t.Errorf("%v requests to a side, want %v; of both, %d met the other side's", n, want, together.Load())
	}
	if !strings.HasSuffix(rec.Run.Patterns[1], " by http1, 400 requests a second, half to each at once") {
		t.Error(rec.Run.Patterns[1])
	}
}

// A server has settled when it is fast twice. Until it answers, it has not.
func TestSettled(t *testing.T) {
	t.Parallel()
	slow, fast := []float64{9, 8, 9}, []float64{5, 5.4, 40}
	for want, means := range map[int][][]float64{
		0: {fast, fast, fast, fast}, 2: {nil, nil, fast, fast}, 3: {slow, fast, slow, fast, fast, fast}, 1: {slow, fast, fast, slow, fast, fast},
	} {
		if got := settled(means); got != want {
			t.Errorf("%v: %d, want %d", means, got, want)
		}
	}
}

// A side that answers nothing ends the comparison, and the error names it. Where the sides answer
// differently is known before.
func TestSideThatFails(t *testing.T) {
	t.Parallel()
	s := sides(t, func(http.ResponseWriter, *http.Request) {}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s[1].Name = "http://new/"
	rec := NewRecord(s, &Turns{Rate: 400}, record.Machine{}, time.Second)
	err := s.Calibrate(t.Context(), &Turns{Rate: 400}, rec)
	if err == nil || !strings.Contains(err.Error(), "http://new/: all") || !strings.Contains(err.Error(), "502") {
		t.Error(err)
	}
	const differing = "[ : the old side answers 200 with 0 bytes (CRC 00000000), the new 502 with 0 bytes (CRC 00000000)]"
	if got := fmt.Sprint(rec.Run.Warnings); got != differing {
		t.Errorf("%s, want %s", got, differing)
	}
}

// The capacity of both sides is found in one search: one of them can do an eighth of what the other
// can, which a busy machine does not hide.
func TestSearchBoth(t *testing.T) {
	t.Parallel()
	// A server that answers one request at a time, and takes so long for each.
	takes := func(d time.Duration) http.HandlerFunc {
		turn := make(chan struct{}, 1)
		return func(http.ResponseWriter, *http.Request) {
			turn <- struct{}{}
			time.Sleep(d)
			<-turn
		}
	}
	s := sides(t, takes(5*time.Millisecond), takes(40*time.Millisecond))
	objectives, err := load.ParseObjectives("p50<100ms")
	if err != nil {
		t.Fatal(err)
	}
	plan := load.Plan{Pacer: load.Constant{Rate: 40, For: 300 * time.Millisecond}}
	var found [2]Capacity
	for range 3 { // the machine may stand still for a try
		if found, err = s.Search(t.Context(), plan, objectives, func(string, load.Try) {}); err != nil {
			t.Fatal(err)
		}
		if found[0].Rate > 1.4*found[1].Rate && found[1].Rate > 0 && found[0].Missed != "" {
			return
		}
	}
	t.Errorf("%+v", found)
}

// A server that is started, ends by itself or never listens leaves nothing running.
func TestServe(t *testing.T) {
	t.Parallel()
	serve := func(ctx context.Context, command string) error {
		var s Sides
		ctx, fail := context.WithCancelCause(ctx)
		defer fail(nil)
		_, err := s[0].Serve(ctx, fail, command, "")
		return errors.Join(err, s.Close())
	}
	if err := serve(t.Context(), "echo no database at {addr} >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "no database at 127.0.0.1") || !strings.Contains(err.Error(), "status 3") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, fmt.Errorf("enough"))
	defer cancel()
	marker := filepath.Join(t.TempDir(), "running")
	if err := serve(ctx, "(while sleep 0.05; do touch "+marker+"; done) & wait {addr}; wait"); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	_ = os.Remove(marker)
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(marker); err == nil {
		t.Error("what the server had started goes on")
	}
}

// What was interrupted early has no intervals, and says so.
func TestTooFewBlocks(t *testing.T) {
	t.Parallel()
	rec := drawn(rand.New(rand.NewPCG(9, 10)), 1, 1, 350, func(ns float64) (float64, bool) { return ns, true })
	var said strings.Builder
	if err := Print(&said, analyzed(rec), report.Form{}); err != nil || strings.Contains(said.String(), "Inf") || strings.Count(said.String(), "(no interval)") < 5 {
		t.Errorf("%v:\n%s", err, said.String())
	}
}
