package load

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A tally counts the outcomes of requests. Several lines share one: a tally for each connection
// would take 0.5 MB apiece.
type tally struct {
	mu            sync.Mutex
	latency, late *hdrhistogram.Histogram // in nanoseconds
	errors        map[string]int64
	statuses      map[int]int64
	intervalTally
	ended      time.Time // when the last answer came
	onTime     int64     // requests that were sent while the plan lasted
	unanswered int64     // requests that were given up by an interruption
	messageTally
	targets []targetTally
}

// An intervalTally counts the answers since the interval began, in microseconds; nil if Plan.Every
// is 0.
type intervalTally struct {
	interval         *hdrhistogram.Histogram
	intervalFailures int64
}

// A messageTally counts the messages of streams, with the latencies of those that have one; nil
// before the first.
type messageTally struct {
	sent, received int64
	messages       *hdrhistogram.Histogram
}

// A targetTally counts the answers of one target. Latencies are in microseconds, and nil before the
// first.
type targetTally struct {
	latency *hdrhistogram.Histogram
	failed  int64
}

func (t *targetTally) done(d time.Duration, err error) {
	t.open()
	_ = t.latency.RecordValue(min(max(1, d.Microseconds()), slowest.Microseconds()))
	if err != nil {
		t.failed++
	}
}

func (t *targetTally) open() {
	if t.latency == nil {
		t.latency = hdrhistogram.New(1, slowest.Microseconds(), 2)
	}
}

// slowest is the longest latency that is recorded; longer ones count as this.
const slowest = 10 * time.Minute

func newLatencies() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, slowest.Nanoseconds(), 3)
}

func newTally() *tally {
	return &tally{
		latency: newLatencies(),
		late:    newLatencies(),
		errors:  map[string]int64{}, statuses: map[int]int64{},
	}
}

// done counts an answer. The tally is locked.
func (t *tally) done(due, now time.Time, status int, err error) {
	t.ended = later(t.ended, now)
	record(t.latency, now.Sub(due))
	if status != 0 {
		t.statuses[status]++
	}
	if err != nil {
		t.failed(reason(err))
		t.intervalFailures++
	}
	if t.interval != nil {
		_ = t.interval.RecordValue(min(max(1, now.Sub(due).Microseconds()), slowest.Microseconds()))
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Nanoseconds()), slowest.Nanoseconds()))
}

// add adds the counts of another tally, which must not count any more.
func (t *tally) add(other *tally) {
	other.mu.Lock()
	defer other.mu.Unlock()
	t.latency.Merge(other.latency)
	t.late.Merge(other.late)
	for why, n := range other.errors {
		t.errors[why] += n
	}
	for status, n := range other.statuses {
		t.statuses[status] += n
	}
	t.ended = later(t.ended, other.ended)
	t.onTime += other.onTime
	t.unanswered += other.unanswered
	for i := range other.targets {
		if i == len(t.targets) {
			t.targets = append(t.targets, targetTally{})
		}
		t.targets[i].open()
		if from := other.targets[i]; from.latency != nil {
			t.targets[i].latency.Merge(from.latency)
			t.targets[i].failed += from.failed
		}
	}
	t.sent += other.sent
	t.received += other.received
	if other.messages != nil {
		if t.messages == nil {
			t.messages = newLatencies()
		}
		t.messages.Merge(other.messages)
	}
}

// result has the counts, of targets with these names.
func (t *tally) result(targets []string) *Result {
	r := &Result{
		onTime: t.onTime, Done: t.latency.TotalCount() - t.unanswered, Unanswered: t.unanswered, Errors: t.reasons(), Statuses: t.statuses,
		Latency: t.latency, Late: t.late, Sent: t.sent, Received: t.received, MessageLatency: t.messages,
	}
	for i, of := range t.targets {
		r.Targets = append(r.Targets, TargetResult{targets[i], of.latency.TotalCount(), of.failed, of.latency})
	}
	return r
}

// mostReasons is how many reasons for failures are told apart; all others are otherReason.
const (
	mostReasons = 32
	otherReason = "another reason"
)

// failed counts a failure.
func (t *tally) failed(why string) {
	if _, known := t.errors[why]; !known && len(t.errors) >= 2*mostReasons {
		why = otherReason
	}
	t.errors[why]++
}

// reasons returns the most frequent reasons, and the others as one.
func (t *tally) reasons() map[string]int64 {
	names := slices.SortedFunc(maps.Keys(t.errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.errors[b], t.errors[a]), strings.Compare(a, b))
	})
	out := map[string]int64{}
	for i, why := range names {
		if i < mostReasons {
			out[why] += t.errors[why]
		} else {
			out[otherReason] += t.errors[why]
		}
	}
	return out
}

// varying matches what differs from one request to the next: numbers of more than three digits
// (ports, ids), and hexadecimal words with a digit among them (hashes, UUIDs).
var varying = regexp.MustCompile(`\b(?:[0-9]{4,}|[0-9a-f]*[0-9][0-9a-f]*(?:-[0-9a-f]{4,})+|[0-9a-f]{8,})\b`)

// reason returns an error's text without what differs from one request to the next.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || !strings.Contains(err.Error(), inner.Error()) {
			break // the outer one says something else, as quic-go's do
		}
		err = inner
	}
	text := err.Error()
	if expired, ok := err.(x509.CertificateInvalidError); ok && expired.Reason == x509.Expired && expired.Cert != nil {
		const day = time.DateOnly // without the current time
		return fmt.Sprintf("x509: the certificate is valid from %s to %s", expired.Cert.NotBefore.Format(day), expired.Cert.NotAfter.Format(day))
	}
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return varying.ReplaceAllString(text, "…")
}
