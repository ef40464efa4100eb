package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"postage/internal/history/trend"
	"postage/internal/verdict"
	"postage/record"
)

// ErrNoFigures is wrapped by the error of adding a record in which no row has figures.
var ErrNoFigures = errors.New("no row of it has figures")

// Outcome is how adding a record ended.
type Outcome string

const (
	Added     Outcome = "added"
	There     Outcome = "already there" // the same record
	Continued Outcome = "continued"     // a run that was there has more blocks now
	Behind    Outcome = "behind"        // a run that is there with more blocks; nothing was changed
)

// Addition is the result of adding a record.
type Addition struct {
	Record  int64 // its number in the history
	Outcome Outcome
	Partial bool // the run was not completed
	Figures int  // rows stored
	Without int  // rows that have no figures and are not stored
	// NewAnchors are the anchors of cases that had another one on this machine before: their ratios
	// do not continue the earlier ones.
	NewAnchors []NewAnchor
}

// NewAnchor is an anchor in the place of another.
type NewAnchor struct {
	Case     string
	Old, New trend.Anchor
}

// Add stores the figures of a record under the name that it is listed by. Adding a record again
// changes nothing. The figures of a run that was resumed replace its earlier ones.
//
// When Add has returned without an error, the record is on disk.
func (db *DB) Add(ctx context.Context, rec *record.Record, name string) (Addition, error) {
	a := adder{rec: rec, name: name, done: Addition{Partial: !rec.Run.Complete}}
	err := a.digest()
	if err == nil {
		// Most of a folder's records are there already: they need no figures.
		err = db.db.QueryRowContext(ctx, "SELECT id FROM postage_record WHERE run = ? AND content = ?", a.run, a.content).Scan(&a.done.Record)
		if err == nil {
			a.done.Outcome = There
			return a.done, nil
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		if err = a.analyze(); err == nil {
			err = db.write(ctx, func(tx *sql.Tx) error { a.tx = tx; return a.add(ctx) })
		}
	}
	if err != nil {
		return Addition{}, fmt.Errorf("add %s to the history: %w", name, err)
	}
	return a.done, nil
}

// adder adds one record.
type adder struct {
	rec          *record.Record
	name         string
	tx           *sql.Tx
	run, content string // digests
	cases        []*verdict.CaseResult
	done         Addition
}

// analyze finds the record's figures.
func (a *adder) analyze() error {
	a.cases = verdict.Analyze(a.rec).Cases
	for _, c := range a.cases {
		// A contender of another revision is named after that revision, and does not recur.
		c.Rows = slices.DeleteFunc(c.Rows, func(r *verdict.Result) bool { return r.Row.OldOf != "" })
		for _, r := range c.Rows {
			if r.NSOp == nil {
				a.done.Without++
			} else {
				a.done.Figures++
			}
		}
	}
	if a.done.Figures == 0 {
		return ErrNoFigures
	}
	return nil
}

// digest makes digests of the record's first block, which no other run has and the run keeps when
// it is resumed, and of all of it.
func (a *adder) digest() error {
	if len(a.rec.Blocks) == 0 {
		return ErrNoFigures
	}
	first, all := sha256.New(), sha256.New()
	block := &a.rec.Blocks[0]
	for _, part := range []any{a.rec.Run.Started, a.rec.Run.Seed, a.rec.Machine.Identity(), block.Case, block.Series} {
		if err := json.NewEncoder(first).Encode(part); err != nil {
			return err
		}
	}
	if _, err := a.rec.WriteTo(io.Writer(all)); err != nil {
		return err
	}
	a.run, a.content = hex.EncodeToString(first.Sum(nil)), hex.EncodeToString(all.Sum(nil))
	return nil
}

func (a *adder) add(ctx context.Context) error {
	var id any // a new one
	var blocks int
	var content string
	err := a.tx.QueryRowContext(ctx, "SELECT id, content, blocks FROM postage_record WHERE run = ?", a.run).Scan(&a.done.Record, &content, &blocks)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		a.done.Outcome = Added
	case err != nil:
		return err
	case content == a.content: // added since it was looked for
		a.done.Outcome = There
		return nil
	case blocks > len(a.rec.Blocks):
		a.done.Outcome = Behind
		return nil
	default:
		a.done.Outcome, id = Continued, a.done.Record
		// Row by row, as the figures are in the order of the rows.
		if err := a.exec(ctx, "DELETE FROM postage_figure WHERE row_id IN (SELECT id FROM postage_row) AND record_id = ?", id); err != nil {
			return err
		}
	}
	if err := a.addRecord(ctx, id); err != nil {
		return err
	}
	figure, err := a.tx.PrepareContext(ctx, `INSERT INTO postage_figure (row_id, record_id, anchor_id, ratio, ratio_low, ratio_high, ns, ns_low, ns_high, blocks, allocs, bytes, module, metrics)
		VALUES ((SELECT id FROM postage_row WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer figure.Close()
	for _, c := range a.cases {
		id, anchor, err := a.anchor(ctx, c)
		if err != nil {
			return err
		}
		for _, r := range c.Rows {
			if r.NSOp == nil {
				continue
			}
			values, err := a.figure(c, r, id, anchor)
			if err != nil {
				return err
			}
			if err := a.exec(ctx, "INSERT INTO postage_row (name) VALUES (?) ON CONFLICT DO NOTHING", r.Row.Name); err != nil {
				return err
			}
			if _, err := figure.ExecContext(ctx, values...); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRecord stores the record, in the place of its earlier state if there is one, and its machine.
func (a *adder) addRecord(ctx context.Context, id any) error {
	run, machine := &a.rec.Run, a.rec.Machine.Identity()
	if err := a.exec(ctx, "INSERT INTO postage_machine (identity) VALUES (?) ON CONFLICT DO NOTHING", machine); err != nil {
		return err
	}
	result, err := a.tx.ExecContext(ctx, `INSERT OR REPLACE INTO postage_record
		(id, run, content, name, machine_id, started_ms, added_ms, commit_id, seed, go_version, format_version, partial, cases, figures, blocks)
		VALUES (?, ?, ?, ?, (SELECT id FROM postage_machine WHERE identity = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, a.run, a.content, a.name, machine, milliseconds(run.Started), milliseconds(time.Now()), run.Commit, strconv.FormatUint(run.Seed, 10),
		a.rec.Machine.Go, run.Version, a.done.Partial, len(a.cases), a.done.Figures, len(a.rec.Blocks))
	if err == nil {
		a.done.Record, err = result.LastInsertId()
	}
	return err
}

func (a *adder) exec(ctx context.Context, statement string, args ...any) error {
	_, err := a.tx.ExecContext(ctx, statement, args...)
	return err
}

// anchor is the contender that a case's rows are divided by, and its number: of those with figures
// in the record, the one that was frozen first; else the baseline, which is frozen now. It is nil
// if that has no figures either.
func (a *adder) anchor(ctx context.Context, c *verdict.CaseResult) (id any, chosen *verdict.Result, err error) {
	var known []knownAnchor // of the case on the record's machine, the oldest first
	err = each(ctx, a.tx, func(scan func(...any) error) error {
		var k knownAnchor
		err := scan(&k.id, &k.Contender, &k.Version)
		known = append(known, k)
		return err
	}, "SELECT a.id, contender, version FROM postage_anchor a JOIN postage_machine m ON m.id = machine_id WHERE identity = ? AND case_name = ? ORDER BY a.id",
		a.rec.Machine.Identity(), c.Name)
	if err != nil {
		return nil, nil, err
	}
	chosen = c.Baseline
	for i := len(known) - 1; i >= 0; i-- {
		if r := c.Of(known[i].Contender); r != nil && r.NSOp != nil {
			chosen = r
		}
	}
	if chosen == nil || chosen.NSOp == nil {
		return nil, nil, nil
	}
	now := trend.Anchor{Contender: chosen.Row.Contender, Version: cmp.Or(chosen.Row.Module, a.rec.Machine.Go) + unusual(a.rec)}
	for _, k := range known {
		if k.Anchor == now {
			return k.id, chosen, nil
		}
	}
	if len(known) > 0 {
		a.done.NewAnchors = append(a.done.NewAnchors, NewAnchor{c.Name, known[len(known)-1].Anchor, now})
	}
	result, err := a.tx.ExecContext(ctx, "INSERT INTO postage_anchor (machine_id, case_name, contender, version) VALUES ((SELECT id FROM postage_machine WHERE identity = ?), ?, ?, ?)",
		a.rec.Machine.Identity(), c.Name, now.Contender, now.Version)
	if err != nil {
		return nil, nil, err
	}
	id, err = result.LastInsertId()
	return id, chosen, err
}

// unusual describes unusual settings of the run: with them the anchor is a different one, because
// its inputs differ.
func unusual(rec *record.Record) (text string) {
	if rec.Run.Seed != record.DefaultSeed {
		text += fmt.Sprintf(", seed %d", rec.Run.Seed)
	}
	if rec.Run.GOMAXPROCS != rec.Machine.Cores {
		text += fmt.Sprintf(", GOMAXPROCS %d", rec.Run.GOMAXPROCS)
	}
	return text
}

type knownAnchor struct {
	id int64
	trend.Anchor
}

// figure is what is stored of a row.
func (a *adder) figure(c *verdict.CaseResult, r *verdict.Result, id any, anchor *verdict.Result) ([]any, error) {
	finite := map[string]any{} // what JSON has a number for
	for unit, value := range r.Metrics {
		if known := known(value); known != nil {
			finite[unit] = known
		}
	}
	metrics, err := json.Marshal(finite)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", r.Row.Name, err)
	}
	var ratio, low, high any
	if anchor != nil && anchor != r {
		if x := c.Compare(r, anchor); x != nil {
			ratio = known(x.Value)
			if x.Bounded() {
				low, high = known(x.Low), known(x.High)
			}
		}
	}
	return []any{r.Row.Name, a.done.Record, id, ratio, low, high, r.NSOp.Value, known(r.NSOp.Low), known(r.NSOp.High), r.Blocks, r.AllocsOp, r.BytesOp, r.Row.Module, string(metrics)}, nil
}

// known is x for the database: NULL if it is not finite.
func known(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

// milliseconds is a time since 1970; 0 is the time that is not known.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
