package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"postage/internal/proc"
	"postage/internal/verdict"
	"postage/record"
)

// Conductor runs plans. The zero value of each optional field means its default.
type Conductor struct {
	// Command starts a worker of this very program: a process that calls ServeWorker
	// with suites that hold all rows of the plan.
	Command []string
	// Environment is added to that of the workers: "NAME=value". Optional.
	Environment []string
	// Save keeps the record; it is called before anything is measured, after blocks as often as its
	// own time allows, and at the end. An error ends the run. Optional.
	Save func(*record.Record) error
	// Observe is told the run's progress, between batches, never during one. Optional.
	Observe func(Status)
	// SetUpPatience and BatchPatience are how long a contender may take to set itself
	// up and prove itself (1 minute), and for one batch (30 s, or 50 times what a batch
	// takes if that is longer), before it counts as hanging.
	SetUpPatience, BatchPatience time.Duration
}

// Status is how a run stands.
type Status struct {
	Case          string
	Block, Round  int     // of the block now measured, from 1
	Rounds        int     // a block has
	HalfWidth     float64 // of the case's widest interval at its last look, +Inf before
	CasesDone     int
	Cases         int
	Elapsed, Left time.Duration
	// Note is something to tell the user, in place of all else.
	Note string
	// Finished is set when a case has just been finished: it is within the precision,
	// or the run is over.
	Finished bool
}

// ErrInterrupted is what Run returns if its context ended.
var ErrInterrupted = errors.New("interrupted")

// Run measures until every case is as precise as rec.Run asks or its budget is used up. rec is as
// NewRecord made it, or as Resume prepared it; it is filled in as the run goes on. If ctx ends, Run
// returns ErrInterrupted; rec then holds all finished blocks.
func (c *Conductor) Run(ctx context.Context, entries []Entry, rec *record.Record) error {
	start := time.Now()
	r := &run{conductor: c, rec: rec, start: start, before: rec.Run.Elapsed, spent: map[string]time.Duration{}}
	r.end = start.Add(rec.Run.Budget - rec.Run.Elapsed)
	for _, rows := range byCase(entries) {
		if cs := r.newCase(rows); cs != nil {
			r.all = append(r.all, cs)
		}
	}
	if err := r.save(true); err != nil {
		return err
	}
	err := r.measure(ctx)
	if err == nil {
		r.finish()
	} else if ctx.Err() != nil {
		err = ErrInterrupted
	}
	return errors.Join(err, r.save(true))
}

// run is the state of one Run.
type run struct {
	conductor *Conductor
	rec       *record.Record
	saveDue   time.Time
	all       []*runCase
	start     time.Time
	before    time.Duration // elapsed before the run was resumed
	end       time.Time
	spent     map[string]time.Duration
}

// runCase is a case as it is being measured.
type runCase struct {
	turns
	name    string
	entries []Entry
	had     map[string]int // blocks of each row
	looked  int            // how many blocks it had at its last look
}

// took keeps how long a block of so many rows took: what was not rounds, and a round.
func (cs *runCase) took(rows int, fixed, round time.Duration) {
	cs.fixed = append(cs.fixed, fixed/time.Duration(rows))
	cs.round = append(cs.round, round/time.Duration(rows))
}

func (r *run) newCase(rows []Entry) *runCase {
	cs := &runCase{name: rows[0].Case.Name, turns: turns{halfWidth: math.Inf(1), batch: rows[0].Case.Batch}, had: map[string]int{}}
	for _, e := range rows {
		if row := r.rec.Row(e.Row()); row != nil && row.OK() && e.Contender.NotPossible == "" {
			cs.entries = append(cs.entries, e)
		}
	}
	if len(cs.entries) == 0 {
		return nil
	}
	cs.rows = len(cs.entries)
	for _, b := range r.rec.BlocksOf(cs.name) {
		r.count(cs, b)
		cs.took(len(b.Series), 0, b.Elapsed/time.Duration(b.Rounds()))
	}
	r.look(cs)
	return cs
}

// look finds out, when all of the case's rows have one of the fixed numbers of blocks, whether the
// case is done.
func (r *run) look(cs *runCase) {
	if cs.blocks > 0 {
		cs.halfWidth = verdict.AnalyzeCase(r.rec, cs.name).Widest()
	}
	passed := sort.SearchInts(looks, cs.blocks+1)
	if passed == 0 || cs.looked >= looks[passed-1] {
		return
	}
	cs.looked = cs.blocks
	cs.done = cs.halfWidth <= r.rec.Run.Precision || passed == len(looks)
}

// measure measures the cases, whose blocks take turns.
func (r *run) measure(ctx context.Context) error {
	byTurns := map[*turns]*runCase{}
	var all []*turns
	for _, cs := range r.all {
		all, byTurns[&cs.turns] = append(all, &cs.turns), cs
	}
	for {
		foresee(all)
		r.shed(all, byTurns)
		now, rounds := next(all, time.Until(r.end))
		if now == nil {
			return ctx.Err()
		}
		cs := byTurns[now]
		block, err := r.block(ctx, cs, rounds)
		if err != nil {
			return err
		}
		begun := time.Now()
		if len(block.Series) > 0 {
			r.rec.Blocks = append(r.rec.Blocks, block)
			r.count(cs, &block)
			r.look(cs)
		}
		cs.done = cs.done || len(r.live(cs)) == 0
		if err := r.save(false); err != nil {
			return err
		}
		r.spend("looking and saving", time.Since(begun))
		if cs.done {
			r.observe(cs, Status{Finished: true})
		}
	}
}

// shed takes rows from the cases that cost most, until there is time for an interval of all others.
// A row that was asked for is told.
func (r *run) shed(all []*turns, byTurns map[*turns]*runCase) {
	for most := costliest(all, time.Until(r.end)); most != nil; most = costliest(all, time.Until(r.end)) {
		cs := byTurns[most]
		live := r.live(cs)
		away := leastMissed(live, verdict.AnalyzeCase(r.rec, cs.name))
		if away == nil {
			return
		}
		for _, e := range live {
			if e.Row() == away.Row() || e.Old && e.asked() == away.Row() { // a side without the other says nothing
				r.rec.Row(e.Row()).Proof = record.ProofNotMeasured + "there was no time for it: give a larger --budget"
			}
		}
		most.rows = len(r.live(cs))
		r.tell("blocks take longer here than the budget allows: %s is left out", away.Row())
	}
}

// leastMissed is the row that a case can do without first: a floor, else a contender, and of these
// the dearest that is not the best bet so far; nil if there is only its baseline and its control.
func leastMissed(live []Entry, seen *verdict.CaseResult) *Entry {
	best := cmp.Or(verdict.Advise(seen), &verdict.Advice{})
	for _, role := range []record.Role{record.RoleFloor, record.RoleContender} {
		for _, result := range slices.Backward(seen.Rows) { // the cheapest first
			if i := slices.IndexFunc(live, func(e Entry) bool { return e.Row() == result.Row.Name }); i >= 0 && live[i].Role == role && !live[i].Old && result != best.Use {
				return &live[i]
			}
		}
	}
	return nil
}

// tell has the observer told something.
func (r *run) tell(format string, a ...any) {
	if r.conductor.Observe != nil {
		r.conductor.Observe(Status{Note: fmt.Sprintf(format, a...)})
	}
}

// spend adds to what wall time was spent on.
func (r *run) spend(on string, d time.Duration) { r.spent[on] += d }

// finish marks rows without figures and says what the instrument itself cost.
func (r *run) finish() {
	for _, cs := range r.all {
		if !cs.done {
			r.observe(cs, Status{Finished: true})
		}
		for _, e := range r.live(cs) {
			if cs.had[e.Row()] == 0 {
				r.rec.Row(e.Row()).Proof = record.ProofNotMeasured + "the budget was used up before"
			}
		}
	}
	r.rec.Run.Complete = true
	self := &record.SelfCost{PeakBytes: proc.PeakMemory()}
	r.rec.Run.Elapsed = r.elapsed()
	self.Duty = Duty(r.rec)
	if r.before == 0 { // else what was spent before is not known
		self.Spent = r.spent
	}
	r.rec.Run.Self = self
}

// Duty is the share of a run's wall time that was spent inside timed batches.
func Duty(rec *record.Record) float64 {
	var timed time.Duration
	for i := range rec.Blocks {
		for _, s := range rec.Blocks[i].Series {
			for _, ns := range s.WallNS {
				timed += time.Duration(ns)
			}
		}
	}
	if rec.Run.Elapsed <= 0 {
		return 0
	}
	return float64(timed) / float64(rec.Run.Elapsed)
}

func (r *run) elapsed() time.Duration { return r.before + time.Since(r.start) }

// save writes the record, which its file then holds whole, if that is due or must be. It takes
// longer as the run grows: a run that is killed loses no more blocks than were measured in
// savingRest times as long.
func (r *run) save(must bool) error {
	if !r.rec.Run.Complete {
		r.rec.Run.Elapsed = r.elapsed()
	}
	begun := time.Now()
	if r.conductor.Save == nil || !must && begun.Before(r.saveDue) {
		return nil
	}
	err := r.conductor.Save(r.rec)
	r.saveDue = time.Now().Add(savingRest * time.Since(begun))
	return err
}

const savingRest = 50

func (r *run) observe(cs *runCase, s Status) {
	if r.conductor.Observe == nil {
		return
	}
	s.Case, s.HalfWidth, s.Cases = cs.name, cs.halfWidth, len(r.all)
	s.Elapsed, s.Left = r.elapsed(), max(0, time.Until(r.end))
	s.Block = cmp.Or(s.Block, cs.blocks)
	for _, other := range r.all {
		if other.done {
			s.CasesDone++
		}
	}
	r.conductor.Observe(s)
}

// live are the entries of a case whose rows have not failed.
func (r *run) live(cs *runCase) []Entry {
	return slices.DeleteFunc(slices.Clone(cs.entries), func(e Entry) bool { return !r.rec.Row(e.Row()).OK() })
}

func (r *run) setUpPatience() time.Duration { return cmp.Or(r.conductor.SetUpPatience, time.Minute) }

func (r *run) batchPatience(expected time.Duration) time.Duration {
	return max(cmp.Or(r.conductor.BatchPatience, 30*time.Second), 50*expected)
}

// environment is that of an entry's worker.
func (r *run) environment(e *Entry) []string {
	procs, debug := r.rec.Run.GOMAXPROCS, os.Getenv("GODEBUG")
	environment := append([]string(nil), r.conductor.Environment...)
	if world := r.rec.Run.World; world != nil && inWorld(*e) {
		procs = world.Procs
		// A service's heap has its size, a worker's has just been larger: what the runtime gives
		// back of it must not be missing in the batches.
		debug = strings.TrimPrefix(debug+",madvdontneed=0", ",")
		// To collect before it is opened takes a fifth of a start.
		gogc := map[bool]string{true: "off", false: strconv.Itoa(world.GOGC)}[e.Build == nil]
		environment = append(environment, "GOGC="+gogc, "GODEBUG="+debug)
	}
	if e.Build != nil { // even if the world says otherwise
		for _, v := range e.Build.Environment {
			if own, ok := strings.CutPrefix(v, "GODEBUG="); ok {
				v = "GODEBUG=" + debug + "," + own
			}
			environment = append(environment, v)
		}
	}
	return append([]string{"GOMAXPROCS=" + strconv.Itoa(procs)}, environment...)
}
