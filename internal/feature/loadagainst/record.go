package loadagainst

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"postage/internal/kit/report"
	"postage/load"
	"postage/record"
)

// Stage is the name of such comparisons' stage in records. They have one case, whose rows are the
// two sides, and an operation is a request.
const Stage = "load"

// figures are all that the sides are compared in, with their units in records. Late are requests
// that were not sent within their slice.
var figures = []struct {
	name, unit string
	tail       float64 // of a percentile: the share of slower requests
}{
	{"p50", "p50-ns", 0.5},
	{"p90", "p90-ns", 0.1},
	{"p99", "p99-ns", 0.01},
	{"mean", "mean-ns", 0},
	{"late", "late/op", 0},
	{"errors", "errors/op", 0},
	{"cpu", record.ServerCPU, 0},
	{"allocs", "server-allocs/op", 0},
	{"bytes", "server-B/op", 0},
	{"collections", "server-collections/op", 0},
}

// failed begins the properties that say how many requests of a row failed, by reason.
const failed = "failed: "

// NewRecord is the record of a comparison that is about to begin. Its patterns say which sides are
// compared, and what is sent.
func NewRecord(s *Sides, machine record.Machine, rate float64, lasts time.Duration) *record.Record {
	target := s[1].Target
	requests := target.All()
	title := fmt.Sprintf("%s instead of %s", s[1].Name, s[0].Name)
	what := fmt.Sprintf("%s %s by %s", cmp.Or(target.RPC, requests[0].Method), requests[0].URL.Path, target.Proto)
	if more := len(requests) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	what += fmt.Sprintf(", %s requests a second", report.Brief(rate))
	rec := &record.Record{Machine: machine, Run: record.Run{
		Version: record.Version, Started: time.Now().UTC().Truncate(time.Second),
		Patterns: []string{title, what}, Seed: rand.Uint64(), Precision: 0.01, Budget: lasts,
	}}
	for i, contender := range []string{"side=old", "side=new"} {
		row := record.Row{
			Stage: Stage, Case: "Load/proto=" + target.Proto, Contender: contender, Role: record.RoleContender,
			N: 1, Value: record.ValueWall, Proof: record.ProofOK,
			Settings: map[string]string{"server": s[i].Name}, Properties: map[string]string{},
		}
		for _, f := range figures {
			row.Properties[record.Better+f.unit] = "lower"
		}
		row.Name = row.Case + "/" + contender
		rec.Rows = append(rec.Rows, row)
	}
	rec.Rows[0].OldOf, rec.Rows[1].Role = rec.Rows[1].Name, record.RoleBaseline
	return rec
}

// counts are what was counted of one side's requests in a block.
type counts struct {
	due float64
	// latency is from when a request was due, in ns, without what the generator itself may have
	// added: that is not the servers' difference.
	latency load.Histogram
	errors  map[string]int64 // by reason
	// totals are how many requests were sent late, how many failed, and as far as it is known what
	// the server used, by the names of figures.
	totals map[string]float64
}

// leastTail is how many requests of a block must be slower than a percentile for that to be known.
const leastTail = 3

// series is what a block has of a side. Its row takes the failures.
func (c *counts) series(row *record.Row) (record.Series, error) {
	histogram, err := c.latency.MarshalText()
	s := record.Series{
		Row: row.Name, Position: []int{0}, WallNS: []int64{max(1, int64(c.latency.Mean()))},
		Allocs: []int64{0}, Bytes: []int64{0}, Latency: string(histogram), Counters: map[string][]float64{},
	}
	for _, f := range figures {
		total, known := c.totals[f.name]
		switch {
		case f.name == "mean":
			s.Counters[f.unit] = []float64{c.latency.Mean()}
		case known:
			s.Counters[f.unit] = []float64{total / c.due}
		case float64(c.latency.TotalCount())*f.tail >= leastTail:
			s.Counters[f.unit] = []float64{float64(c.latency.ValueAtQuantile(100 * (1 - f.tail)))}
		}
	}
	for why, n := range c.errors {
		before, _ := strconv.ParseInt(row.Properties[failed+why], 10, 64) // none is 0
		row.Properties[failed+why] = strconv.FormatInt(before+n, 10)
	}
	return s, err
}
