package loadagainst

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"postage/internal/kit/report"
	"postage/internal/stats"
	"postage/load"
)

// Header says what is compared, and how. It is the first line of a record.
type Header struct {
	Format  string    `json:"format"` // see format
	Old     string    `json:"old"`
	New     string    `json:"new"`
	What    string    `json:"what"` // the requests
	Started time.Time `json:"started"`
	Rate    float64   `json:"rate"`    // requests a second
	Seconds float64   `json:"seconds"` // for how long both sides are loaded, settling included
	Seed    uint64    `json:"seed"`
	// Slice is how long a slice lasts, and Settle how long after a switch answers are not counted.
	Slice  time.Duration `json:"slice_ns"`
	Settle time.Duration `json:"settle_ns"`
	// Differing says where the sides answered differently before the load.
	Differing []string `json:"differing"`
}

// format is that of records; its number rises with each change that older programs cannot read.
const format = "postage load against 3"

// Pair has one slice of each side, the old first.
type Pair [2]Slice

// Slice is what was counted of one side's requests.
type Slice struct {
	Due int64 `json:"due"`
	// Latency is from when a request was due, in ns, without what the generator itself may have
	// added: that is not the servers' difference.
	Latency load.Histogram   `json:"latency"`
	Errors  map[string]int64 `json:"errors"`
	// Totals are how many requests were sent late, how many failed (errors), for how many ns the
	// generator was paused, and as far as it is known what the server used: cpu (ns), allocs, bytes
	// and collections.
	Totals map[string]float64 `json:"totals"`
}

// Record is a comparison, complete or not. Its file has a header and pairs, each a line of JSON.
type Record struct {
	Header Header
	Pairs  []Pair
}

// NewHeader is a header for so many requests a second.
func NewHeader(s *Sides, rate float64, lasts time.Duration) Header {
	requests := s[1].Target.All()
	what := fmt.Sprintf("%s %s by %s", cmp.Or(s[1].Target.RPC, requests[0].Method), requests[0].URL.Path, s[1].Target.Proto)
	if more := len(requests) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return Header{
		Format: format, Old: s[0].Name, New: s[1].Name, What: what, Started: time.Now().UTC(),
		Rate: rate, Seconds: lasts.Seconds(), Seed: rand.Uint64(),
	}
}

// Title says which sides are compared.
func (h *Header) Title() string { return fmt.Sprintf("%s instead of %s", h.New, h.Old) }

// Load says what is sent.
func (h *Header) Load() string {
	return fmt.Sprintf("%s, %s requests a second", h.What, report.Brief(h.Rate))
}

// PairsLeft is how many pairs of slices are not measured yet.
func (r *Record) PairsLeft() int {
	each := 2 * (r.Header.Slice + r.Header.Settle).Seconds()
	return max(stats.MinBlocks, int(math.Ceil(r.Header.Seconds/each))) - len(r.Pairs)
}

// ErrNoRecord is a file that is not the record of such a comparison.
var ErrNoRecord = errors.New("this is no comparison of two servers by this version of postage")

// Load reads a record. A last line that was not written to its end is left out.
func Load(name string) (*Record, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, lines := &Record{}, json.NewDecoder(file)
	if err := lines.Decode(&r.Header); err != nil || r.Header.Format != format {
		return nil, fmt.Errorf("%s: %w", name, ErrNoRecord)
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
