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

// Header is the first line of a record: what is compared, and how.
type Header struct {
	Format  string    `json:"format"` // see format
	Old     string    `json:"old"`
	New     string    `json:"new"`
	What    string    `json:"what"` // the requests
	Started time.Time `json:"started"`
	Rate    float64   `json:"rate"`    // requests a second
	Seconds float64   `json:"seconds"` // for how long both sides are loaded, settling included
	AtOnce  bool      `json:"at_once"`
	// Slice is how long a slice lasts, and Settle how long after a switch answers are not counted.
	Slice  time.Duration `json:"slice_ns"`
	Settle time.Duration `json:"settle_ns"`
	Seed   uint64        `json:"seed"`
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
}

// NewHeader is a header for so many requests a second.
func NewHeader(rate float64, lasts time.Duration, atOnce bool, seed uint64) Header {
	return Header{Format: format, Started: time.Now().UTC(), Rate: rate, Seconds: lasts.Seconds(), AtOnce: atOnce, Seed: seed}
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
	start := make([]byte, 64)
	n, _ := io.ReadFull(file, start)
	return bytes.HasPrefix(start[:n], []byte(`{"format":"postage load against`))
}

// Load reads a record. A last line that was not written to its end is left out.
func Load(name string) (*Record, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	r := &Record{}
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && number > 1 {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, number, err)
		}
		if number == 1 {
			err = json.Unmarshal(line, &r.Header)
			if err == nil && r.Header.Format != format {
				err = fmt.Errorf("its format is %q, and this program reads %q", r.Header.Format, format)
			}
		} else {
			r.Pairs = append(r.Pairs, Pair{})
			err = json.Unmarshal(line, &r.Pairs[number-2])
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, number, err)
		}
	}
}

// Keep writes the record as it is so far into a file, and returns what writes a further pair behind
// it, and what closes the file. With no name it keeps nothing.
func (r *Record) Keep(name string) (keep func(Pair) error, done func() error, err error) {
	if name == "" {
		return func(Pair) error { return nil }, func() error { return nil }, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, nil, err
	}
	encoder := json.NewEncoder(file)
	err = encoder.Encode(r.Header)
	for _, p := range r.Pairs {
		err = cmp.Or(err, encoder.Encode(p))
	}
	return func(p Pair) error { return encoder.Encode(p) }, file.Close, err
}
