// Package history reads a folder of records, and shows how each row changed from run to run.
//
//  1. [Read] reads the folder's records. For each wanted row of a run it keeps a [Point]: the
//     figures, and the row's time as a multiple of its anchor's. What made the whole machine slower
//     or faster between two runs cancels in that ratio.
//  2. The anchor is the case's baseline in the same run, in one module version. [History.Trends]
//     makes a [Trend] for each machine and anchor, since a ratio to something else says nothing
//     about the row.
//  3. changePoints finds the changes in each trend.
//  4. [Print] and [HTML] show the result.
//
// Note: a database of the figures was rejected. A team shares its records, and a history that is
// read from them is never out of date.
package history

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// History is the records of a folder.
type History struct {
	// Skipped says why a file is not in the history, an error each.
	Skipped []error
	runs    []run // in the order in which they were started
}

// run is what the history keeps of a record.
type run struct {
	about   Point // what its points have in common
	started time.Time
	machine string
	blocks  int
	first   []int64 // times of its first batches, by which copies of the run are recognised
	rows    []string
	points  map[string]Point // by wanted row
}

// Read reads the records of a folder, its .txt files, for the trends of the wanted rows. It skips
// files that are no records. If two files have the same run, as when a run was resumed, it skips
// the shorter one. It calls wanted from several goroutines.
func Read(ctx context.Context, folder string, wanted func(row string) bool) (*History, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool { return f.IsDir() || filepath.Ext(f.Name()) != ".txt" })
	runs, failed := make([]run, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(files) && ctx.Err() == nil; i += workers {
				runs[i], failed[i] = load(folder, files[i].Name(), wanted)
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := &History{
		Skipped: slices.DeleteFunc(failed, func(err error) bool { return err == nil }),
		runs:    slices.DeleteFunc(runs, func(r run) bool { return r.about.Run == "" }),
	}
	h.sort()
	return h, nil
}

// sort puts the runs in the order in which they were started, and skips copies.
func (h *History) sort() {
	slices.SortStableFunc(h.runs, func(a, b run) int {
		return cmp.Or(a.started.Compare(b.started), slices.Compare(a.first, b.first), cmp.Compare(b.blocks, a.blocks))
	})
	var runs []run
	for _, r := range h.runs {
		last := len(runs) - 1
		if last >= 0 && len(r.first) > 0 && r.started.Equal(runs[last].started) && slices.Equal(r.first, runs[last].first) {
			h.Skipped = append(h.Skipped, fmt.Errorf("%s: the same run as %s", r.about.Run, runs[last].about.Run))
			continue
		}
		runs = append(runs, r)
	}
	h.runs = runs
}

// load reads the record in a file.
func load(folder, name string, wanted func(row string) bool) (run, error) {
	rec, err := record.Load(filepath.Join(folder, name))
	if err != nil {
		return run{}, err
	}
	started := rec.Run.Started.UTC()
	about := Point{
		Run:     name,
		Started: report.OrNull(started),
		Commit:  report.OrNull(rec.Run.Commit),
		Go:      rec.Machine.Go,
		Partial: !rec.Run.Complete,
	}
	r := run{
		about:   about,
		started: started,
		machine: rec.Machine.Identity(),
		blocks:  len(rec.Blocks),
		points:  map[string]Point{},
	}
	measured := map[string]bool{}
	for i := range rec.Blocks {
		for _, series := range rec.Blocks[i].Series {
			measured[series.Row] = true
		}
	}
	var cases []string // that have a wanted row
	for i := range rec.Rows {
		row := &rec.Rows[i]
		// The old side of a comparison is named after its revision, which no later run has.
		if !measured[row.Name] || !row.OK() || row.OldOf != "" {
			continue
		}
		r.rows = append(r.rows, row.Name)
		if wanted(row.Name) && !slices.Contains(cases, row.Case) {
			cases = append(cases, row.Case)
		}
	}
	if len(rec.Blocks) > 0 && len(rec.Blocks[0].Series) > 0 {
		r.first = rec.Blocks[0].Series[0].WallNS
	}
	for _, name := range cases {
		r.addCase(verdict.AnalyzeCase(rec, name))
	}
	return r, nil
}

// addCase adds the figures of a case's rows that have a ratio to the baseline.
func (r *run) addCase(c *verdict.CaseResult) {
	for _, result := range c.Rows {
		ratio := result.Ratio
		if ratio == nil || !(ratio.Value > 0) || math.IsInf(ratio.Value, 1) || !slices.Contains(r.rows, result.Row.Name) {
			continue
		}
		p := r.about
		p.anchor = Anchor{c.Baseline.Row.Contender, cmp.Or(c.Baseline.Row.Module, p.Go) + unusual(c.Record)}
		p.Module = result.Row.Module
		p.Blocks = result.Blocks
		p.Ratio = *ratio
		p.NSOp = *result.NSOp
		p.BytesOp = result.BytesOp
		p.AllocsOp = result.AllocsOp
		p.Metrics = result.Metrics
		r.points[result.Row.Name] = p
	}
}

// unusual describes unusual settings of the run. They make the anchor a different one, because its
// inputs or its processors differ.
func unusual(rec *record.Record) (text string) {
	if rec.Run.Seed != record.DefaultSeed {
		text += fmt.Sprintf(", seed %d", rec.Run.Seed)
	}
	if rec.Run.GOMAXPROCS != rec.Machine.Cores {
		text += fmt.Sprintf(", GOMAXPROCS %d", rec.Run.GOMAXPROCS)
	}
	return text
}

// Empty reports whether the folder has no records.
func (h *History) Empty() bool { return len(h.runs) == 0 }

// Rows returns the names of all rows that have figures, in alphabetical order.
func (h *History) Rows() []string {
	names := map[string]bool{}
	for i := range h.runs {
		for _, name := range h.runs[i].rows {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Trends returns how a wanted row changed: a trend for each machine and anchor, the one with the
// latest run first. The anchor itself has none.
func (h *History) Trends(row string) (trends []*Trend) {
	for _, r := range slices.Backward(h.runs) {
		p, ok := r.points[row]
		if !ok {
			continue
		}
		i := slices.IndexFunc(trends, func(t *Trend) bool { return t.Machine == r.machine && t.Anchor == p.anchor })
		if i < 0 {
			i = len(trends)
			trends = append(trends, &Trend{Machine: r.machine, Anchor: p.anchor})
		}
		trends[i].Points = append(trends[i].Points, p)
	}
	for _, t := range trends {
		slices.Reverse(t.Points)
		t.findChanges()
	}
	return trends
}
