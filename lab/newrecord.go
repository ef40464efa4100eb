package lab

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"postage/internal/kit/words"
	"postage/record"
)

// NewRecord is the record of a run that is about to begin: what the plan measures, on what machine,
// with which modules. run holds what the user asked for.
func NewRecord(plan Plan, run record.Run, machine record.Machine) *record.Record {
	run.Version = record.Version
	run.Rounds = DefaultRounds
	if slices.ContainsFunc(plan.All(), inWorld) {
		world := *cmp.Or(run.World, new(record.DefaultWorld()))
		world.Procs = cmp.Or(run.GOMAXPROCS, world.Procs)
		run.World = &world
	}
	run.GOMAXPROCS = cmp.Or(run.GOMAXPROCS, runtime.GOMAXPROCS(0))
	modules := Modules()
	run.Program = programOf(plan.All())
	if now := nowOf(plan.Entries); now != nil {
		run.Layouts = len(now.Commands)
	}
	rec := &record.Record{Run: run, Machine: machine}
	for i := range plan.Entries {
		rec.Rows = append(rec.Rows, newRow(&plan.Entries[i], record.ProofOK, modules))
	}
	for i := range plan.Left {
		rec.Rows = append(rec.Rows, newRow(&plan.Left[i], record.ProofNotMeasured+"the budget is too small", modules))
	}
	return rec
}

// inWorld reports whether an entry's cost is measured in the run's world. A program in the worker's
// place has a world of its own.
func inWorld(e Entry) bool {
	return cmp.Or(e.Case.Value, record.ValueCost) == record.ValueCost && e.Contender.Start == nil
}

func newRow(e *Entry, proof record.Proof, modules map[string]string) record.Row {
	if e.Contender.NotPossible != "" {
		proof = record.ProofNotPossible.Because(words.Abridged(e.Contender.NotPossible, longestReason))
	}
	module := e.Contender.Module
	if e.Build != nil {
		modules = e.Build.Modules
	}
	if version := modules[module]; version != "" {
		module += " " + version
	}
	row := record.Row{
		Name:       e.Row(),
		Stage:      e.Stage,
		Case:       e.Case.Name,
		Contender:  e.contender(),
		Role:       e.Role,
		Floor:      e.Contender.OwnFloor,
		Module:     module,
		Settings:   record.KeysOf(e.Contender.Name).Settings(e.Contender.Settings),
		Properties: e.Contender.Properties,
		Checks:     e.Contender.Checks,
		Proof:      proof,
		Value:      cmp.Or(e.Case.Value, record.ValueCost),
	}
	if e.Old {
		row.Revision, row.OldOf = e.Build.Commit, e.asked()
	}
	return row
}

// programOf is the SHA-256, in hexadecimal, of the programs that the new code's entries run in, ""
// if one cannot be read.
func programOf(entries []Entry) string {
	var files []string
	for i := range entries {
		if b := entries[i].Build; b != nil && !entries[i].Old && !slices.Contains(files, b.Commands[0][0]) {
			files = append(files, b.Commands[0][0])
		}
	}
	if len(files) == 0 {
		this, _ := os.Executable() // without a name there is no digest
		files = []string{this}
	}
	h := sha256.New()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return ""
		}
		_, err = io.Copy(h, f)
		if errors.Join(err, f.Close()) != nil {
			return ""
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Modules are the versions, by path, of the modules that this program is built from.
func Modules() map[string]string {
	info, _ := debug.ReadBuildInfo()
	return ModulesOf(cmp.Or(info, &debug.BuildInfo{}))
}

// ModulesOf are the versions, by path, of the modules that a program is built from.
func ModulesOf(info *debug.BuildInfo) map[string]string {
	modules := map[string]string{}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		modules[m.Path] = m.Version
	}
	return modules
}

// Resume prepares an incomplete record to be measured further, for that budget beyond the time that
// it has taken, and returns the entries of its rows. It refuses to mix figures of two machines or
// two builds. all are the entries that this program has.
func Resume(rec *record.Record, all []Entry, machine record.Machine, budget time.Duration) ([]Entry, error) {
	if here, there := machine.Identity(), rec.Machine.Identity(); here != there {
		return nil, fmt.Errorf("resume: the record is of another machine (%s), this is %s", there, here)
	}
	here := programOf(all)
	if rec.Run.Program != "" && rec.Run.Program != here {
		return nil, fmt.Errorf("resume: the record was measured by another build of this program (SHA-256 %.12s…) than this (%.12s…): its blocks and those to come would be of two programs", rec.Run.Program, here)
	}
	byName := map[string]Entry{}
	for _, e := range all {
		byName[e.Row()] = e
	}
	var entries []Entry
	for i := range rec.Rows {
		row := &rec.Rows[i]
		e, ok := byName[row.Name]
		if !ok {
			return nil, fmt.Errorf("resume: this program has no row %s", row.Name)
		}
		if here := newRow(&e, "", nil); here.Revision != row.Revision {
			return nil, fmt.Errorf("resume: the old code of row %s was %s, and is %s", row.Name, row.Revision, here.Revision)
		}
		if row.Proof.Is(record.ProofNotMeasured) {
			row.Proof = record.ProofOK
		}
		entries = append(entries, e)
	}
	rec.Run.Complete, rec.Run.Budget = false, rec.Run.Elapsed+budget
	return entries, nil
}
