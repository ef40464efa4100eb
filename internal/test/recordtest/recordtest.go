// Package recordtest makes records for tests, as if they had been measured.
package recordtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"postage/record"
)

// Run is a run on a machine whose speed is drawn for each run: cases of a baseline, its
// control, four contenders and a floor.
type Run struct {
	Rand          *rand.Rand
	Cases, Blocks int
	// Slower are factors on the times, Allocs objects allocated in addition, by row.
	Slower map[string]float64
	Allocs map[string]int64
	// Modules are the contenders' modules.
	Modules map[string]string
	// Jitter makes allocated bytes differ from batch to batch.
	Jitter bool
}

// Record is what it measured: block values of 1% standard deviation, batches of 3%.
func (s *Run) Record() *record.Record {
	rec := &record.Record{
		Run:     record.Run{Version: record.Version, Seed: 1, Precision: 0.01, Rounds: 12, GOMAXPROCS: 2, Complete: true},
		Machine: record.Machine{GOOS: "linux", GOARCH: "amd64", CPU: "Test", Cores: 2, Go: "go1.26.0"},
	}
	drift := math.Exp(0.1 * s.Rand.NormFloat64())
	for c := range s.Cases {
		name := fmt.Sprintf("Encode/msg=%d/op=encode", c)
		rows := []struct {
			contender string
			role      record.Role
			ns        float64
		}{{"codec=base", "baseline", 1000}, {"codec=control", "control", 1000}, {"codec=a", "contender", 300}, {"codec=b", "contender", 500},
			{"codec=c", "contender", 2000}, {"codec=d", "contender", 9000}, {"floor=memcpy", "floor", 20}}
		for _, r := range rows {
			rec.Rows = append(rec.Rows, record.Row{Name: name + "/" + r.contender, Stage: "encode", Case: name, Contender: r.contender,
				Role: r.role, N: 100, Proof: record.ProofOK, Module: s.Modules[r.contender], Metrics: map[string]float64{"encoded-bytes": 377}})
		}
		for b := range s.Blocks {
			block := record.Block{Case: name, Number: b + 1}
			for _, r := range rows {
				row := name + "/" + r.contender
				mean := r.ns * drift * math.Exp(0.01*s.Rand.NormFloat64())
				if f := s.Slower[row]; f != 0 {
					mean *= f
				}
				series := record.Series{Row: row}
				for i := range 12 {
					jitter := int64(0)
					if s.Jitter {
						jitter = s.Rand.Int64N(3)
					}
					series.Position = append(series.Position, i)
					series.WallNS = append(series.WallNS, int64(100*mean*math.Exp(0.03*s.Rand.NormFloat64())))
					series.Allocs = append(series.Allocs, 100*(2+s.Allocs[row]))
					series.Bytes = append(series.Bytes, 100*(64+jitter))
				}
				block.Series = append(block.Series, series)
			}
			rec.Blocks = append(rec.Blocks, block)
		}
	}
	return rec
}

// Against adds to a record, as if the run had been against revision abc1234, the old versions of
// its contenders, whose times are the new ones' times factor.
func Against(rec *record.Record, factor float64) {
	for i := range len(rec.Rows) {
		old := rec.Rows[i]
		if old.Role != "contender" && old.Role != "baseline" {
			continue
		}
		old.OldOf, old.Revision, old.Role = old.Name, "abc1234", "contender"
		old.Name, old.Contender = old.Name+"/rev=abc1234", old.Contender+"/rev=abc1234"
		rec.Rows = append(rec.Rows, old)
		for j := range rec.Blocks {
			if rec.Blocks[j].Case != old.Case {
				continue
			}
			series := *rec.Blocks[j].Of(old.OldOf)
			series.Row, series.WallNS, series.Allocs = old.Name, slices.Clone(series.WallNS), slices.Clone(series.Allocs)
			for k := range series.WallNS {
				series.WallNS[k] = int64(factor * float64(series.WallNS[k]))
			}
			rec.Blocks[j].Series = append(rec.Blocks[j].Series, series)
		}
	}
}

// Laid gives the blocks of a record's cases function layouts, from 1. It moves each old row's time
// by 1% in each block, and in each layout as if the layout moved each side by spread.
func Laid(rec *record.Record, rng *rand.Rand, layouts int, spread float64) {
	type place struct {
		row    string
		layout int
	}
	moved := map[place]float64{}
	for i := range rec.Blocks {
		block := &rec.Blocks[i]
		layout := (block.Number-1)%layouts + 1
		if layouts > 1 {
			block.Layout, rec.Run.Layouts = layout, layouts
		}
		for j := range block.Series {
			s := &block.Series[j]
			if rec.Row(s.Row).OldOf == "" {
				continue
			}
			at := place{s.Row, layout}
			if _, ok := moved[at]; !ok {
				moved[at] = spread * math.Sqrt2 * rng.NormFloat64()
			}
			factor := math.Exp(moved[at] + 0.01*rng.NormFloat64())
			for k := range s.WallNS {
				s.WallNS[k] = int64(factor * float64(s.WallNS[k]))
			}
		}
	}
}
