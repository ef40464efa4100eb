package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"postage/internal/sys/proc"
	"postage/record"
)

// ServeWorker is the main function of a worker process: it takes requests from the conductor until
// it is told to close. It returns an error only if the protocol broke; a contender's failure is
// reported to the conductor. When the conductor is gone the process exits at once, whatever its
// contender is doing.
func ServeWorker(ctx context.Context, suites []Suite, stdin io.Reader, stdout io.Writer) error {
	go proc.EndWithParent()
	w := &worker{suites: suites}
	if counter, err := proc.OpenInstructions(); err == nil {
		w.instructions = counter
		defer counter.Close()
	}
	err := proc.Serve(stdin, stdout, nil, func(question json.RawMessage) (any, error) {
		var r request
		if err := json.Unmarshal(question, &r); err != nil {
			return nil, err
		}
		return w.answer(ctx, r)
	})
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// worker is the state of a worker process.
type worker struct {
	suites   []Suite
	instance Instance
	// goroutines is their number before the contender was opened. others is the same number where
	// batches wait for what the contender's goroutines still do, else 0.
	goroutines, others int
	value              record.Value // the case's
	// instructions is nil where the machine does not count them.
	instructions *proc.Instructions
}

// answer does what a request asks for. A panic of the contender is an error.
func (w *worker) answer(ctx context.Context, r request) (answer reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v%s", r.Op, p, panicSite(debug.Stack()))
		}
	}()
	switch r.Op {
	case opOpen:
		return w.open(ctx, r)
	case opPopulate:
		populate(r.Bytes)
		return reply{}, nil
	case opCalibrate:
		return w.calibrate(time.Duration(r.TargetNS))
	case opWarm:
		r.N = max(leastOps(w.instance), r.N/warmPart)
		err := warm(ctx, r, w)
		w.latencies()
		return reply{}, err
	case opRun:
		batches, err := w.turn(r.N)
		if err != nil {
			return reply{}, err
		}
		return reply{Batch: batches[0], More: batches[1:]}, nil
	case opClose:
		return w.close()
	}
	return reply{}, fmt.Errorf("%s %q", unknownRequest, r.Op)
}

func (w *worker) open(ctx context.Context, r request) (reply, error) {
	e, ok := entry(w.suites, r.Row)
	if !ok {
		return reply{}, fmt.Errorf("%s %q", noSuchRow, r.Row)
	}
	proc.TakeGOGC()
	w.goroutines = runtime.NumGoroutine()
	instance, err := e.Contender.Open(ctx, Env{Seed: r.Seed})
	if err != nil {
		return reply{}, fmt.Errorf("open: %w", err)
	}
	if w.instance, w.value = instance, cmp.Or(e.Case.Value, record.ValueCost); w.value == record.ValueCost {
		w.others = w.goroutines
	}
	if err := instance.Prove(ctx); err != nil {
		return reply{}, fmt.Errorf("proof: %w", err)
	}
	answer := reply{Instrument: record.Instrument}
	if m, ok := instance.(Metered); ok {
		answer.Metrics = m.Metrics()
	}
	return answer, nil
}

// close releases the contender and finds out whether it left goroutines behind.
func (w *worker) close() (answer reply, err error) {
	if w.instance == nil {
		return answer, nil
	}
	if h := w.latencies(); h != nil {
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return answer, fmt.Errorf("latencies: %w", err)
		}
		answer.Latency = string(text)
	}
	if err := w.instance.Close(); err != nil {
		return answer, fmt.Errorf("close: %w", err)
	}
	// Goroutines that were told to end may need a moment.
	for wait := time.Millisecond; runtime.NumGoroutine() > w.goroutines; wait *= 2 {
		if wait > 2*time.Second { // four seconds in all
			return answer, fmt.Errorf("leak: %d goroutines are left after Close", runtime.NumGoroutine()-w.goroutines)
		}
		time.Sleep(wait)
	}
	return answer, nil
}

// latencies takes the contender's latencies, nil if it keeps none.
func (w *worker) latencies() *hdrhistogram.Histogram {
	if d, ok := w.instance.(Distributed); ok {
		return d.Latencies()
	}
	return nil
}

// panicSite finds in a stack the file and line that panicked.
func panicSite(stack []byte) string {
	_, after, found := strings.Cut(string(stack), "panic(")
	if !found {
		return ""
	}
	for line := range strings.Lines(after) {
		file := strings.TrimSpace(line)
		if !strings.HasPrefix(line, "\t") || strings.Contains(file, "/runtime/") {
			continue
		}
		file, _, _ = strings.Cut(file, " ")
		// Where the source lay when it was compiled says nothing to a reader.
		return ", at " + path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	return ""
}
