package loadagainst

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"postage/internal/stats"
	"postage/load"
)

// Header is the first line of a record.
type Header struct {
	Format string `json:"format"` // see format
	Compared
	Seconds float64 `json:"seconds"` // for how long both sides are loaded, settling included
	Seed    uint64  `json:"seed"`
}

// Compared says what is compared, and how.
type Compared struct {
	Old     string    `json:"old"`
	New     string    `json:"new"`
	What    string    `json:"what"` // the requests
	Started time.Time `json:"started"`
	Rate    float64   `json:"rate"` // requests a second
	AtOnce  bool      `json:"at_once"`
	// Slice is how long a slice lasts, and Settle how long after a switch answers are not counted.
	Slice  time.Duration `json:"slice_ns"`
	Settle time.Duration `json:"settle_ns"`
	Notes  []string      `json:"notes,omitempty"`
}

// format is that of records; its number rises with each change that older programs cannot read.
const format = "postage load against 1"

// Pair has one slice of each side, the old first.
type Pair struct {
	At       time.Time `json:"at"`
	NewFirst bool      `json:"new_first"`
	Slices   [2]Slice  `json:"slices"`
}

// Slice is what was counted of one side's requests.
type Slice struct {
	Due      int64            `json:"due"`
	OnTime   int64            `json:"sent_on_time"`
	Answered int64            `json:"answered"` // failures included
	Failed   int64            `json:"failed"`
	Errors   map[string]int64 `json:"errors"`
	// Latency is from when a request was due, in ns, without what the generator itself may have
	// added: that is not the servers' difference.
	Latency load.Histogram `json:"latency"`
	Paused  time.Duration  `json:"generator_paused_ns"`
	// Server is what the server used since the slice before, for ServerRequests requests.
	Server         *load.ServerUse `json:"server"`
	ServerRequests int64           `json:"server_requests"`
}

// Record is a comparison, complete or not: a header and pairs, each a line of JSON.
type Record struct {
	Header Header
	Pairs  []Pair
	out    *json.Encoder // what each further pair is written to; nil to write it nowhere
}

// NewHeader is a header for so many requests a second.
func NewHeader(rate float64, lasts time.Duration, atOnce bool, seed uint64) Header {
	compared := Compared{Started: time.Now().UTC(), Rate: rate, AtOnce: atOnce}
	return Header{Format: format, Compared: compared, Seconds: lasts.Seconds(), Seed: seed}
}

// Differs says in what another header is of another comparison, "" if it can be gone on with.
func (h *Header) Differs(other *Header) string {
	switch {
	case h.Old != other.Old || h.New != other.New:
		return fmt.Sprintf("of %s and %s", other.Old, other.New)
	case h.What != other.What:
		return other.What
	case h.Rate != other.Rate || h.AtOnce != other.AtOnce:
		return fmt.Sprintf("%g requests a second, at once: %v", other.Rate, other.AtOnce)
	}
	return ""
}

// PairsLeft is how many pairs of slices are not measured yet.
func (r *Record) PairsLeft() int {
	each := (r.Header.Slice + r.Header.Settle).Seconds()
	if !r.Header.AtOnce {
		each *= 2
	}
	return max(stats.MinBlocks, int(math.Ceil(r.Header.Seconds/each))) - len(r.Pairs)
}

// Is reports whether a file is a record of such a comparison.
func Is(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	start, _ := bufio.NewReader(file).Peek(64)
	return bytes.HasPrefix(start, []byte(`{"format":"postage load against`))
}

// Load reads a record. A last line that was not written to its end is left out.
func Load(name string) (*Record, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, lines := &Record{}, json.NewDecoder(file)
	if err := lines.Decode(&r.Header); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Header.Format != format {
		return nil, fmt.Errorf("%s: its format is %q, and this program reads %q", name, r.Header.Format, format)
	}
	for {
		var pair Pair
		err := lines.Decode(&pair)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(r.Pairs)+2, err)
		}
		r.Pairs = append(r.Pairs, pair)
	}
}

// Keep writes the record as it is so far into a file, to which Run then adds each pair. The function
// that it returns closes the file.
func (r *Record) Keep(name string) (done func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	r.out = json.NewEncoder(file)
	err = r.out.Encode(r.Header)
	for _, p := range r.Pairs {
		err = cmp.Or(err, r.out.Encode(p))
	}
	return file.Close, err
}

func (r *Record) add(p Pair) error {
	r.Pairs = append(r.Pairs, p)
	if r.out == nil {
		return nil
	}
	return r.out.Encode(p)
}
