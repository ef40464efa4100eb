// Package record holds what a run measured, with the environment it was measured in,
// and keeps it in a file:
//
//	rec, err := record.Load("run.txt")
//	for _, block := range rec.BlocksOf("Encode/msg=order/op=decode") {
//		wall := block.Of("Encode/msg=order/op=decode/codec=json").WallNS
//
// The file is plain text in the Go benchmark format, so that benchstat and everything else built on
// golang.org/x/perf reads it as it stands:
//
//  1. Configuration lines (goos, goarch, cpu) name the machine. What differs between two runs on
//     one machine (seed, commit, load, kernel) is not one of them: benchstat makes a table of its
//     own for every combination, and would compare nothing.
//  2. One result line per contender and block, the unit of statistics.
//  3. Lines that begin with "#" and a word hold, as JSON, what the format cannot express: #run,
//     #machine, a #row for each row, #block, and before each result line the #batches it was
//     computed from. [Parse] reads these alone.
//  4. A last line, #end, with a checksum, so that a file that was cut short or changed is noticed.
package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Version is the version of the file format.
const Version = 1

// Instrument is the version of how workers measure. It changes when they begin, end or count
// batches in another way.
const Instrument = 4

// DefaultSeed is the default seed of a run, so that runs are alike.
const DefaultSeed uint64 = 1

// Record is what one run measured.
type Record struct {
	Run     Run
	Machine Machine
	Rows    []Row
	Blocks  []Block
}

// Run is what was asked for and how it went.
type Run struct {
	Version  int       `json:"version"`
	Started  time.Time `json:"started"`
	Patterns []string  `json:"patterns,omitempty"`
	// Vary is what two sides differ in, as --vary takes it, with commits in place of branches.
	Vary string `json:"vary,omitempty"`
	Seed uint64 `json:"seed"`
	// Precision is the half-width asked for, as a fraction: 0.01 is ±1%.
	Precision float64       `json:"precision"`
	Budget    time.Duration `json:"budget_ns"`
	// World is the process that costs were measured in, nil where no row's quantity is its cost.
	World *World `json:"world,omitempty"`
	// Rounds is the number of rounds in a block. GOMAXPROCS is for workers whose quantity is wall
	// time.
	Rounds     int    `json:"rounds"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Commit     string `json:"commit,omitempty"`
	// Program is the SHA-256 of the program that measured, in hexadecimal. Where it was built in
	// several function layouts, whose number is Layouts, it is the first one's. Where a run has
	// several programs, it is the SHA-256 of all of them.
	Program string `json:"program,omitempty"`
	Layouts int    `json:"layouts,omitempty"`
	// Elapsed is the wall time of the run so far, its sum over all resumptions.
	Elapsed time.Duration `json:"elapsed_ns"`
	// Complete is false while rows lack blocks: the run was interrupted or killed.
	Complete bool     `json:"complete"`
	Warnings []string `json:"warnings,omitempty"`
}

// Row is a case and a contender.
type Row struct {
	Name       string            `json:"name"`
	Stage      string            `json:"stage"`
	Case       string            `json:"case"`
	Contender  string            `json:"contender"`
	Role       Role              `json:"role"`
	Floor      string            `json:"floor,omitempty"` // the contender that bounds it, if not the case's fastest floor
	Module     string            `json:"module,omitempty"`
	Settings   map[string]string `json:"settings,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
	Checks     string            `json:"checks,omitempty"`
	// Revision is the commit of an old version's program. OldOf then names the new version's row.
	Revision string `json:"revision,omitempty"`
	OldOf    string `json:"old_of,omitempty"`
	// Instrument is the version of how its workers measured, 0 where another program did.
	Instrument int                `json:"instrument,omitempty"`
	N          int                `json:"n,omitempty"` // operations a batch
	Value      Value              `json:"value,omitempty"`
	Proof      Proof              `json:"proof"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Warnings   []string           `json:"warnings,omitempty"`
}

// OK says that the row's proof held and its figures may be shown.
func (r *Row) OK() bool { return r.Proof == ProofOK }

// Block is some rounds in freshly started processes of one case's contenders.
type Block struct {
	Case    string        `json:"case"`
	Number  int           `json:"number"` // from 1, within the case
	Elapsed time.Duration `json:"elapsed_ns"`
	// Layout is the function layout of its programs, from 1; 0 where they had the linker's.
	Layout int      `json:"layout,omitempty"`
	Series []Series `json:"-"`
}

// Series is the batches of one row in one block, one an entry of each slice, in the
// order of the rounds.
type Series struct {
	Row string `json:"row"`
	// Position is the batch's place in its round's random order, from 0.
	Position []int `json:"position"`
	// WallNS and CPUNS (user and system time of the whole worker process) are nanoseconds for all
	// the batch's operations together. CPUNS is nil, or 0 of a batch, where it is not known.
	WallNS []int64 `json:"wall_ns"`
	CPUNS  []int64 `json:"cpu_ns,omitempty"`
	// Allocs and Bytes are heap objects and bytes allocated.
	Allocs []int64 `json:"allocs"`
	Bytes  []int64 `json:"bytes"`
	// Counters are the contender's own, as differences over the batch.
	Counters map[string][]float64 `json:"counters,omitempty"`
	// Latency is the distribution of the latency of the batches' operations, in
	// nanoseconds: base64 HDR histograms (V2, compressed), with a space between those of the slices
	// of a load. Empty where it is not kept.
	Latency string `json:"latency,omitempty"`
	// Collections are the garbage collections that each batch began, nil in older records.
	Collections []int64 `json:"collections,omitempty"`
}

// Row returns the row of that name, nil if there is none.
func (r *Record) Row(name string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Name == name {
			return &r.Rows[i]
		}
	}
	return nil
}

// Cases returns the names of the record's cases in the order of its rows.
func (r *Record) Cases() []string {
	var names []string
	for i := range r.Rows {
		if !slices.Contains(names, r.Rows[i].Case) {
			names = append(names, r.Rows[i].Case)
		}
	}
	return names
}

// BlocksOf returns the finished blocks of a case.
func (r *Record) BlocksOf(caseName string) []*Block {
	var blocks []*Block
	for i := range r.Blocks {
		if r.Blocks[i].Case == caseName {
			blocks = append(blocks, &r.Blocks[i])
		}
	}
	return blocks
}

// Duty is the share of the run's wall time that was spent inside timed batches.
func (r *Record) Duty() float64 {
	var timed int64
	for i := range r.Blocks {
		for j := range r.Blocks[i].Series {
			for _, ns := range r.Blocks[i].Series[j].WallNS {
				timed += ns
			}
		}
	}
	return float64(timed) / float64(max(1, r.Run.Elapsed))
}

// Of returns the series of a row in the block, nil if it has none.
func (b *Block) Of(row string) *Series {
	for i := range b.Series {
		if b.Series[i].Row == row {
			return &b.Series[i]
		}
	}
	return nil
}

// SeriesOf returns a row's series, one for each block that it took part in.
func (r *Record) SeriesOf(row *Row) []*Series {
	var all []*Series
	for _, block := range r.BlocksOf(row.Case) {
		if s := block.Of(row.Name); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// Rounds is how many rounds the block had. A contender may have more than one batch in a round.
func (b *Block) Rounds() int {
	fewest := 0
	for i := range b.Series {
		if n := len(b.Series[i].WallNS); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

// NSPerOp returns the wall time of each batch divided by its n operations.
func (s *Series) NSPerOp(n int) []float64 {
	each := make([]float64, len(s.WallNS))
	for i, ns := range s.WallNS {
		each[i] = float64(ns) / float64(n)
	}
	return each
}

// cpuKnown reports whether the CPU time of each batch is known.
func (s *Series) cpuKnown() bool {
	return len(s.CPUNS) == len(s.WallNS) && !slices.Contains(s.CPUNS, 0)
}

// CostPerOp is the sum of the batches' CPU time over the sum of their operations, in ns. If the CPU
// time of a batch is not known, it is wall time instead.
func (s *Series) CostPerOp(n int) float64 {
	times := s.WallNS
	if s.cpuKnown() {
		times = s.CPUNS
	}
	sum := 0.0
	for _, ns := range times {
		sum += float64(ns)
	}
	return sum / float64(len(times)) / float64(n)
}

// Latencies is the distribution of the series' latencies, nil if none keeps it.
func Latencies(series ...*Series) (all *hdrhistogram.Histogram, err error) {
	// The decoder trusts the lengths that it reads.
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("latency is not an HDR histogram: %v", p)
		}
	}()
	for _, s := range series {
		for text := range strings.FieldsSeq(s.Latency) {
			h, err := hdrhistogram.Decode([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("latency is not an HDR histogram: %w", err)
			}
			if all == nil {
				all = h
			} else {
				all.Merge(h)
			}
		}
	}
	return all, nil
}

// AllocsPerOp is the median over the batches of the heap objects allocated, an operation, rounded
// down as package testing does, so that a background goroutine that allocated once does not count.
func (s *Series) AllocsPerOp(n int) int64 { return wholePerOp(s.Allocs, n) }

// BytesPerOp is the same for heap bytes.
func (s *Series) BytesPerOp(n int) int64 { return wholePerOp(s.Bytes, n) }

func wholePerOp(total []int64, n int) int64 {
	return slices.Sorted(slices.Values(total))[len(total)/2] / int64(n)
}

// check returns an error if a series from a file is inconsistent.
func (s *Series) check(row *Row) error {
	if row.N < 1 {
		return fmt.Errorf("batches of row %s, which has no n", s.Row)
	}
	batches := len(s.WallNS)
	lengths := []int{len(s.Allocs), len(s.Bytes)}
	if s.CPUNS != nil {
		lengths = append(lengths, len(s.CPUNS))
	}
	if s.Collections != nil {
		lengths = append(lengths, len(s.Collections))
	}
	for name, values := range s.Counters {
		lengths = append(lengths, len(values))
		if !isUnit(name) {
			return fmt.Errorf("counter name %q is not a unit", name)
		}
	}
	if batches == 0 || slices.ContainsFunc(lengths, func(n int) bool { return n != batches }) {
		return fmt.Errorf("want equally many batches in each list: wall_ns has %d, others have %d", batches, lengths)
	}
	if slices.Min(s.WallNS) <= 0 {
		return errors.New("a batch's time is 0 ns or less")
	}
	_, err := Latencies(s)
	return err
}

// isUnit says whether a figure can have this for its unit in the Go benchmark format.
func isUnit(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, notInName)
}

// notInName are the characters that end a word of the Go benchmark format.
func notInName(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
