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

	"postage/internal/sys/proc"
	"postage/internal/verdict"
	"postage/record"
)

// Conductor runs plans. The zero value of each optional field means its default.
type Conductor struct {
	// Command starts a worker of this very program: a process that calls ServeWorker
	// with suites that hold all rows of the plan.
	Command []string
	// Environment is added to the workers' environment: "NAME=value". Optional.
	Environment []string
	// Save keeps the record. It is called before anything is measured, after blocks, and at the
	// end. The longer it takes, the fewer blocks it follows. An error ends the run. Optional.
	Save func(*record.Record) error
	// Observe is told the run's progress, between batches, never during one. Optional.
	Observe func(Status)
	// A contender that takes longer counts as hanging. SetUpPatience is for setting up and for the
	// proof (1 minute). BatchPatience is for one batch (30 s, or 50 times what a batch takes if
	// that is longer).
	SetUpPatience, BatchPatience time.Duration
}

// Status is how a run stands.
type Status struct {
	Case         string
	Block, Round int     // the numbers, from 1, of the block and the round now measured
	HalfWidth    float64 // of the case's widest interval, +Inf with too few blocks
	CasesDone    int
	Cases        int
	Left         time.Duration
	// Note is something to tell the user, in place of all else.
	Note string
	// Finished says that the case has just been finished, or the run is over.
	Finished bool
}

// ErrInterrupted is what Run returns if its context ended.
var ErrInterrupted = errors.New("interrupted")

// Run measures until every case is as precise as rec.Run asks or its budget is used up. rec is as
// NewRecord made it, or as Resume prepared it; it is filled in as the run goes on. If ctx ends, Run
// returns ErrInterrupted; rec then holds all finished blocks.
func (c *Conductor) Run(ctx context.Context, entries []Entry, rec *record.Record) error {
	start := time.Now()
	r := &run{conductor: c, rec: rec, start: start, before: rec.Run.Elapsed}
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
}

// runCase is a case as it is being measured.
type runCase struct {
	turns   turns
	name    string
	entries []Entry
	counts  map[string]int // how many blocks each row has
	looked  int            // how many blocks the case had at its last look
}

func (r *run) newCase(rows []Entry) *runCase {
	cs := &runCase{name: rows[0].Case.Name, turns: turns{halfWidth: math.Inf(1), batch: rows[0].Case.Batch}, counts: map[string]int{}}
	for _, e := range rows {
		if row := r.rec.Row(e.Row()); row != nil && row.OK() && e.Contender.NotPossible == "" {
			cs.entries = append(cs.entries, e)
		}
	}
	if len(cs.entries) == 0 {
		return nil
	}
	cs.turns.rows = len(cs.entries)
	if now := nowOf(cs.entries); now != nil && len(now.Commands) > 1 {
		cs.turns.layouts = len(now.Commands)
	}
	for _, b := range r.rec.BlocksOf(cs.name) {
		r.count(cs, b)
		cs.turns.took(len(b.Series), 0, b.Elapsed/time.Duration(b.Rounds()))
	}
	r.look(cs)
	return cs
}

// look finds the case's widest interval. When all rows have one more of the numbers of blocks in
// looks, it also decides whether the case is done.
func (r *run) look(cs *runCase) {
	if cs.turns.blocks > 0 {
		cs.turns.halfWidth = verdict.AnalyzeCase(r.rec, cs.name).Widest()
	}
	passed := sort.SearchInts(looks, cs.turns.blocks+1)
	if passed == 0 || cs.looked >= looks[passed-1] {
		return
	}
	cs.looked = cs.turns.blocks
	cs.turns.done = cs.turns.halfWidth <= r.rec.Run.Precision || passed == len(looks)
}

// measure measures block after block until no case is left, or no time.
func (r *run) measure(ctx context.Context) error {
	byTurns := map[*turns]*runCase{}
	var all []*turns
	for _, cs := range r.all {
		all, byTurns[&cs.turns] = append(all, &cs.turns), cs
	}
	for {
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
		if len(block.Series) > 0 {
			r.rec.Blocks = append(r.rec.Blocks, block)
			r.count(cs, &block)
			r.look(cs)
		}
		cs.turns.done = cs.turns.done || len(r.live(cs)) == 0
		if err := r.save(false); err != nil {
			return err
		}
		if cs.turns.done {
			r.observe(cs, Status{Finished: true})
		}
	}
}

// shed takes rows from the cases that cost most, until the time is enough for an interval of every
// other row. It tells the user which.
func (r *run) shed(all []*turns, byTurns map[*turns]*runCase) {
	for most := costliest(all, time.Until(r.end)); most != nil; most = costliest(all, time.Until(r.end)) {
		cs := byTurns[most]
		live := r.live(cs)
		dropped := leastMissed(live, verdict.AnalyzeCase(r.rec, cs.name))
		if dropped == nil {
			return
		}
		for _, e := range live {
			if e.Row() == dropped.Row() || e.Old && e.asked() == dropped.Row() { // one side alone compares nothing
				r.rec.Row(e.Row()).Proof = record.ProofNotMeasured + "there was no time for it: give a larger --budget"
			}
		}
		most.rows = len(r.live(cs))
		r.observe(cs, Status{Note: fmt.Sprintf("blocks take longer here than the budget allows: %s is left out", dropped.Row())})
	}
}

// leastMissed is the row that a case can best do without: its dearest floor, else its dearest
// contender that is not the advice so far. It is nil if there is only the baseline and the control.
func leastMissed(live []Entry, seen *verdict.CaseResult) *Entry {
	best := cmp.Or(verdict.Advise(seen), &verdict.Advice{})
	for _, role := range []record.Role{record.RoleFloor, record.RoleContender} {
		for _, result := range slices.Backward(seen.Rows) { // the dearest first
			if i := slices.IndexFunc(live, func(e Entry) bool { return e.Row() == result.Row.Name }); i >= 0 && live[i].Role == role && !live[i].Old && result != best.Use {
				return &live[i]
			}
		}
	}
	return nil
}

// finish marks rows without figures.
func (r *run) finish() {
	for _, cs := range r.all {
		if !cs.turns.done {
			r.observe(cs, Status{Finished: true})
		}
		for _, e := range r.live(cs) {
			if cs.counts[e.Row()] == 0 {
				r.rec.Row(e.Row()).Proof = record.ProofNotMeasured + "the budget was used up before"
			}
		}
	}
	r.rec.Run.Complete = true
	r.rec.Run.Elapsed = r.elapsed()
}

func (r *run) elapsed() time.Duration { return r.before + time.Since(r.start) }

// save writes the record if that is due, or if it must. Saving takes longer as the run grows, so
// the next is due after savingRest times as long. A run that is killed loses the blocks since then.
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
	s.Case, s.HalfWidth, s.Cases = cs.name, cs.turns.halfWidth, len(r.all)
	s.Left = max(0, time.Until(r.end))
	s.Block = cmp.Or(s.Block, cs.turns.blocks)
	for _, other := range r.all {
		if other.turns.done {
			s.CasesDone++
		}
	}
	r.conductor.Observe(s)
}

// live are the entries of a case whose rows have not failed.
func (r *run) live(cs *runCase) []Entry {
	return slices.DeleteFunc(slices.Clone(cs.entries), func(e Entry) bool { return !r.rec.Row(e.Row()).OK() })
}

func (c *Conductor) setUpPatience() time.Duration { return cmp.Or(c.SetUpPatience, time.Minute) }

func (c *Conductor) batchPatience(expected time.Duration) time.Duration {
	return max(cmp.Or(c.BatchPatience, 30*time.Second), 50*expected)
}

// environment is what an entry's worker is started with.
func (r *run) environment(e *Entry) []string {
	procs, gogc, debug := r.rec.Run.GOMAXPROCS, os.Getenv("GOGC"), os.Getenv("GODEBUG")
	environment := append([]string(nil), r.conductor.Environment...)
	if world := r.rec.Run.World; world != nil && inWorld(*e) {
		procs, gogc = world.Procs, strconv.Itoa(world.GOGC)
		// A worker's heap has just been larger than what it needs now. The runtime must not give
		// that memory back, as batches would have to fetch it again.
		debug = strings.TrimPrefix(debug+",madvdontneed=0", ",")
		environment = append(environment, "GODEBUG="+debug)
	}
	if e.Build == nil {
		environment = append(environment, proc.LaterGOGC(gogc)...)
	} else { // even if the world says otherwise; an old side's program may not know of a later GOGC
		environment = append(environment, "GOGC="+gogc)
		for _, v := range e.Build.Environment {
			if own, ok := strings.CutPrefix(v, "GODEBUG="); ok {
				v = "GODEBUG=" + debug + "," + own
			}
			environment = append(environment, v)
		}
	}
	return append([]string{"GOMAXPROCS=" + strconv.Itoa(procs)}, environment...)
}
