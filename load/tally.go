package load

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Counts are the figures of some lines' requests, of a fleet's worker, or of a whole run.
type Counts struct {
	Account  Account
	Errors   map[string]int64
	Statuses map[int]int64 // answers by their status: HTTP's, or gRPC's
	// Latency is the time from when a request was due, or sent if there was no rate, to its answer,
	// in nanoseconds: the most that the server may have taken. Errors are included. A request that
	// was not sent or not answered has no bound, which is the histogram's longest time.
	Latency Histogram
	// Least is the same without what the generator itself may have added: the least that the server
	// has taken. For a request without an answer it is how long it has waited.
	Least Histogram
	// Successes and Failures divide Latency from the first failure on; they have no histogram if
	// there is none.
	Successes, Failures Histogram
	// Paused is how long the generator did not run although it should have.
	Paused   time.Duration
	Messages Messages
	// Begun is how many answers have begun, and Beginning the sum of how long they took after their
	// requests were sent. Answers of gRPC streams and WebSockets are not counted.
	Begun     int64
	Beginning time.Duration
	ended     time.Time // when the last answer came
}

// An Account says what became of the requests that were due.
type Account struct {
	// Begun is how many requests were sent at a rate, and SentOnTime how many of them before the
	// plan ended.
	Begun, SentOnTime int64
	// NotSent is how many requests were due and were not sent: all connections were busy, or the
	// generator's machine had reached one of Limits.
	NotSent int64
	Limits  map[string]int64
	// Unanswered is how many requests were sent and had no answer when the plan was interrupted.
	Unanswered int64
}

// Messages are the messages of gRPC's streams, and server-sent events.
type Messages struct {
	Sent, Received int64
	// Latency is the time, in nanoseconds, from the sending of a message to its answer, or for a
	// server stream from one message to the next. It has no histogram if there were none.
	Latency Histogram
}

// A Histogram is written in HdrHistogram's compressed form, in JSON too.
type Histogram struct{ *hdrhistogram.Histogram }

// MarshalText implements encoding.TextMarshaler.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.Histogram == nil {
		return nil, nil
	}
	return h.EncodeV2()
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		h.Histogram, err = hdrhistogram.Decode(text)
	}
	return err
}

// A tally counts the outcomes of requests. Several lines share one: a tally for each connection
// would take 0.5 MB apiece.
type tally struct {
	mu       sync.Mutex
	counts   Counts
	interval Interval // without a histogram if Plan.Every is 0
}

// slowest is the longest latency that is recorded; longer ones count as this.
const slowest = 10 * time.Minute

func newLatencies() Histogram {
	return Histogram{hdrhistogram.New(1, slowest.Nanoseconds(), 3)}
}

// newMicroseconds has less resolution, and takes a fraction of the memory.
func newMicroseconds() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, slowest.Microseconds(), 2)
}

func newCounts() Counts {
	return Counts{
		Latency: newLatencies(), Least: newLatencies(), Account: Account{Limits: map[string]int64{}},
		Errors: map[string]int64{}, Statuses: map[int]int64{},
	}
}

// done counts an answer.
func (c *Counts) done(r timing, now, earliest time.Time, status int, err error) {
	c.ended = later(c.ended, now)
	record(c.Latency, now.Sub(r.due))
	record(c.Least, earliest.Sub(r.charged))
	if r.begins > 0 {
		c.Begun++
		c.Beginning += r.begins
	}
	if status != 0 {
		c.Statuses[status]++
	}
	if err != nil {
		if c.Failures.Histogram == nil {
			c.Failures = newLatencies()
			c.Successes = newLatencies()
		}
		record(c.Failures, now.Sub(r.due))
		c.failed(reason(err), 1)
	}
	if err == nil && c.Successes.Histogram != nil {
		record(c.Successes, now.Sub(r.due))
	}
}

// mostReasons is how many reasons for failures are told apart; all others are one.
const mostReasons = 32

func (c *Counts) failed(why string, n int64) {
	if _, known := c.Errors[why]; !known && len(c.Errors) >= mostReasons {
		why = "another reason"
	}
	c.Errors[why] += n
}

// unbounded counts a request that has waited, and of whose end nothing is known.
func (c *Counts) unbounded(waited time.Duration) {
	record(c.Latency, slowest)
	record(c.Least, waited)
}

func record(h Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, d.Nanoseconds()), slowest.Nanoseconds()))
}

// add adds other counts, which must not change meanwhile.
func (c *Counts) add(other *Counts) {
	c.Latency.Merge(other.Latency.Histogram)
	c.Least.Merge(other.Least.Histogram)
	for why, n := range other.Account.Limits {
		c.Account.Limits[why] += n
	}
	c.Successes.Add(other.Successes)
	c.Failures.Add(other.Failures)
	for _, why := range other.Reasons() {
		c.failed(why, other.Errors[why])
	}
	for status, n := range other.Statuses {
		c.Statuses[status] += n
	}
	c.ended = later(c.ended, other.ended)
	c.Account.Begun += other.Account.Begun
	c.Account.SentOnTime += other.Account.SentOnTime
	c.Account.NotSent += other.Account.NotSent
	c.Paused = max(c.Paused, other.Paused) // they run side by side
	c.Account.Unanswered += other.Account.Unanswered
	c.Begun += other.Begun
	c.Beginning += other.Beginning
	c.Messages.Sent += other.Messages.Sent
	c.Messages.Received += other.Messages.Received
	c.Messages.Latency.Add(other.Messages.Latency)
}

// Add adds another histogram, if there is one.
func (h *Histogram) Add(other Histogram) {
	if other.Histogram == nil {
		return
	}
	if h.Histogram == nil {
		*h = newLatencies()
	}
	h.Merge(other.Histogram)
}

// Reasons returns why requests failed, the most frequent reason first.
func (c *Counts) Reasons() []string {
	return slices.SortedFunc(maps.Keys(c.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Errors[b], c.Errors[a]), strings.Compare(a, b))
	})
}

// varying matches what differs from one request to the next: times, numbers of more than three
// digits (ports, ids), and hexadecimal words with a digit among them (hashes, UUIDs).
var varying = regexp.MustCompile(`\b(?:[0-9-]{10}T[0-9:+-]+Z?|[0-9]{4,}|[0-9a-f]*[0-9][0-9a-f]*(?:-[0-9a-f]{4,})+|[0-9a-f]{8,})\b`)

// reason returns an error's text without what differs from one request to the next.
func reason(err error) string {
	if connectionEnded(err) {
		return errEnded.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil || !strings.Contains(err.Error(), inner.Error()) {
			break // the outer one says something else
		}
		err = inner
	}
	text := err.Error()
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return varying.ReplaceAllString(text, "…")
}
