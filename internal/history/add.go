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
	"strings"
	"time"

	"postage/internal/history/trend"
	"postage/internal/stats"
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
	a := adder{rec: rec, name: name, kind: db.kind}
	if err := a.prepare(); err != nil {
		return Addition{}, fmt.Errorf("add %s to the history: %w", name, err)
	}
	if err := db.write(ctx, func(tx *sql.Tx) error { a.tx = tx; return a.add(ctx) }); err != nil {
		return Addition{}, fmt.Errorf("add %s to the history: %w", name, err)
	}
	return a.done, nil
}

// adder adds one record.
type adder struct {
	rec          *record.Record
	name         string
	kind         dialect
	tx           *sql.Tx
	run, content string
	cases        []verdict.CaseResult
	done         Addition
}

// prepare does what needs no database.
func (a *adder) prepare() error {
	a.done.Partial = !a.rec.Run.Complete
	a.cases = verdict.Analyze(a.rec).Cases
	for i := range a.cases {
		// A contender of another revision is named after that revision, and does not recur.
		a.cases[i].Rows = slices.DeleteFunc(a.cases[i].Rows, func(r *verdict.Result) bool { return r.Row.OldOf != "" })
		for _, r := range a.cases[i].Rows {
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
	var err error
	a.run, a.content, err = digests(a.rec)
	return err
}

// digests are those of the record's first block, which no other run has and the run keeps
// when it is resumed, and of all of it.
func digests(rec *record.Record) (run, content string, err error) {
	first := sha256.New()
	block := &rec.Blocks[0]
	for _, part := range []any{rec.Run.Started, rec.Run.Seed, rec.Machine.Identity(), block.Case, block.Series} {
		if err := json.NewEncoder(first).Encode(part); err != nil {
			return "", "", err
		}
	}
	all := sha256.New()
	if _, err := rec.WriteTo(io.Writer(all)); err != nil {
		return "", "", err
	}
	return hex.EncodeToString(first.Sum(nil)), hex.EncodeToString(all.Sum(nil)), nil
}

func (a *adder) add(ctx context.Context) error {
	a.done.Outcome, a.done.NewAnchors = "", nil
	var content string
	var blocks int
	err := a.queryRow(ctx, "SELECT id, content, blocks FROM postage_record WHERE run = $1", a.run).Scan(&a.done.Record, &content, &blocks)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		a.done.Outcome = Added
	case err != nil:
		return err
	case content == a.content:
		a.done.Outcome = There
		return nil
	case blocks > len(a.rec.Blocks):
		a.done.Outcome = Behind
		return nil
	default:
		a.done.Outcome = Continued
		// Row by row, as the figures are in the order of the rows.
		if err := a.exec(ctx, "DELETE FROM postage_figure WHERE row_id IN (SELECT id FROM postage_row) AND record_id = $1", a.done.Record); err != nil {
			return err
		}
	}
	machine, err := a.id(ctx, "postage_machine", "identity", a.rec.Machine.Identity())
	if err != nil {
		return err
	}
	if err := a.addRecord(ctx, machine); err != nil {
		return err
	}
	rows, err := a.rowIDs(ctx)
	if err != nil {
		return err
	}
	var figures [][]any
	for i := range a.cases {
		anchor, err := a.anchor(ctx, machine, &a.cases[i])
		if err != nil {
			return err
		}
		for _, r := range a.cases[i].Rows {
			if r.NSOp == nil {
				continue
			}
			values, err := a.figure(rows[r.Row.Name], r, anchor)
			if err != nil {
				return err
			}
			figures = append(figures, values)
		}
	}
	return a.insert(ctx, "postage_figure (row_id, record_id, anchor_id, ratio, ratio_low, ratio_high, ns, ns_low, ns_high, blocks, allocs, bytes, module, metrics)", figures)
}

// addRecord stores the record, in the place of its earlier state if there is one.
func (a *adder) addRecord(ctx context.Context, machine int64) error {
	run, partial := &a.rec.Run, 0
	if a.done.Partial {
		partial = 1
	}
	values := []any{a.run, a.content, a.name, machine, milliseconds(run.Started), milliseconds(time.Now()), run.Commit, strconv.FormatUint(run.Seed, 10),
		a.rec.Machine.Go, run.Version, partial, len(a.cases), a.done.Figures, len(a.rec.Blocks)}
	if a.done.Outcome == Continued {
		return a.exec(ctx, `UPDATE postage_record SET run = $1, content = $2, name = $3, machine_id = $4, started_ms = $5, added_ms = $6, commit_id = $7, seed = $8,
			go_version = $9, format_version = $10, partial = $11, cases = $12, figures = $13, blocks = $14 WHERE id = $15`, append(values, a.done.Record)...)
	}
	id, err := a.next(ctx, "postage_record")
	if err != nil {
		return err
	}
	a.done.Record = id
	return a.insert(ctx, "postage_record (id, run, content, name, machine_id, started_ms, added_ms, commit_id, seed, go_version, format_version, partial, cases, figures, blocks)",
		[][]any{append([]any{id}, values...)})
}

// rowIDs are the numbers of the record's rows, by name. New names get new ones.
func (a *adder) rowIDs(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	last := int64(0)
	known, err := a.tx.QueryContext(ctx, "SELECT id, name FROM postage_row")
	if err != nil {
		return nil, err
	}
	defer known.Close()
	for known.Next() {
		var id int64
		var name string
		if err := known.Scan(&id, &name); err != nil {
			return nil, err
		}
		ids[name], last = id, max(last, id)
	}
	if err := known.Err(); err != nil {
		return nil, err
	}
	var added [][]any
	for i := range a.cases {
		for _, r := range a.cases[i].Rows {
			if name := r.Row.Name; ids[name] == 0 && r.NSOp != nil {
				last++
				ids[name] = last
				added = append(added, []any{last, name})
			}
		}
	}
	return ids, a.insert(ctx, "postage_row (id, name)", added)
}

// frozen is a case's anchor in a record.
type frozen struct {
	id  int64
	row *record.Row
}

// anchor is the contender that a case's rows are divided by: of those with figures in the record,
// the one that was frozen first; else the baseline, which is frozen now. It is nil if that has no
// figures either.
func (a *adder) anchor(ctx context.Context, machine int64, c *verdict.CaseResult) (*frozen, error) {
	known, err := a.anchors(ctx, machine, c.Name)
	if err != nil {
		return nil, err
	}
	var chosen *verdict.Result
	for _, k := range known {
		if chosen == nil {
			chosen = withFigures(c, k.Contender)
		}
	}
	if chosen == nil {
		if c.Baseline == nil || c.Baseline.NSOp == nil {
			return nil, nil
		}
		chosen = c.Baseline
	}
	now := trend.Anchor{Contender: chosen.Row.Contender, Version: cmp.Or(chosen.Row.Module, a.rec.Machine.Go) + unusual(a.rec)}
	for _, k := range known {
		if k.Anchor == now {
			return &frozen{k.id, chosen.Row}, nil
		}
	}
	if len(known) > 0 {
		a.done.NewAnchors = append(a.done.NewAnchors, NewAnchor{c.Name, known[len(known)-1].Anchor, now})
	}
	id, err := a.next(ctx, "postage_anchor")
	if err != nil {
		return nil, err
	}
	return &frozen{id, chosen.Row}, a.insert(ctx, "postage_anchor (id, machine_id, case_name, contender, version)", [][]any{{id, machine, c.Name, now.Contender, now.Version}})
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

// withFigures is the contender's result, nil if it has no figures. The control is not
// looked for, since no case has it for its baseline.
func withFigures(c *verdict.CaseResult, contender string) *verdict.Result {
	for _, r := range c.Rows {
		if r.Row.Contender == contender && r.NSOp != nil {
			return r
		}
	}
	return nil
}

type knownAnchor struct {
	id int64
	trend.Anchor
}

// anchors are those of a case on a machine, the oldest first.
func (a *adder) anchors(ctx context.Context, machine int64, name string) ([]knownAnchor, error) {
	rows, err := a.tx.QueryContext(ctx, a.kind.sql("SELECT id, contender, version FROM postage_anchor WHERE machine_id = $1 AND case_name = $2 ORDER BY id"), machine, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var known []knownAnchor
	for rows.Next() {
		var k knownAnchor
		if err := rows.Scan(&k.id, &k.Contender, &k.Version); err != nil {
			return nil, err
		}
		known = append(known, k)
	}
	return known, rows.Err()
}

// figure is what is stored of a row.
func (a *adder) figure(row int64, r *verdict.Result, anchor *frozen) ([]any, error) {
	metrics, err := json.Marshal(finiteMetrics(r.Metrics))
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", r.Row.Name, err)
	}
	var anchorID, ratio, low, high any
	if anchor != nil {
		anchorID = anchor.id
		if values := verdict.BlockValues(a.rec, r.Row, anchor.row); anchor.row.Name != r.Row.Name && len(values) > 0 {
			c := stats.Compare(values, a.rec.Run.Between)
			ratio = known(c.Ratio)
			if !math.IsInf(c.HalfWidth, 0) {
				low, high = known(c.Low), known(c.High)
			}
		}
	}
	return []any{row, a.done.Record, anchorID, ratio, low, high, r.NSOp.Value, known(r.NSOp.Low), known(r.NSOp.High), r.Blocks, count(r.AllocsOp), count(r.BytesOp), r.Row.Module, string(metrics)}, nil
}

// known is x for the database: NULL if it is not finite.
func known(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

func count(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// finiteMetrics leaves out what JSON has no number for.
func finiteMetrics(metrics map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for unit, value := range metrics {
		if known(value) != nil {
			out[unit] = value
		}
	}
	return out
}

// milliseconds is a time since 1970; 0 is the time that is not known.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (a *adder) queryRow(ctx context.Context, statement string, args ...any) *sql.Row {
	return a.tx.QueryRowContext(ctx, a.kind.sql(statement), args...)
}

func (a *adder) exec(ctx context.Context, statement string, args ...any) error {
	_, err := a.tx.ExecContext(ctx, a.kind.sql(statement), args...)
	return err
}

// next is a table's next number. Only one writer runs at a time, so none takes the same.
func (a *adder) next(ctx context.Context, table string) (id int64, err error) {
	err = a.queryRow(ctx, "SELECT coalesce(max(id), 0) + 1 FROM "+table).Scan(&id)
	return id, err
}

// id is the number of a value in a table of values. The value is added if it is missing.
func (a *adder) id(ctx context.Context, table, column, value string) (id int64, err error) {
	err = a.queryRow(ctx, "SELECT id FROM "+table+" WHERE "+column+" = $1", value).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if id, err = a.next(ctx, table); err != nil {
		return 0, err
	}
	return id, a.insert(ctx, table+" (id, "+column+")", [][]any{{id, value}})
}

// insertedAtOnce is how many rows one statement inserts, in one round trip.
const insertedAtOnce = 50

// insert inserts rows into a table, given with its columns.
func (a *adder) insert(ctx context.Context, table string, rows [][]any) error {
	for len(rows) > 0 {
		some := rows[:min(len(rows), insertedAtOnce)]
		rows = rows[len(some):]
		var b strings.Builder
		var args []any
		b.WriteString("INSERT INTO " + table + " VALUES ")
		for i, row := range some {
			for j, value := range row {
				switch {
				case j > 0:
					b.WriteString(", ")
				case i > 0:
					b.WriteString("), (")
				default:
					b.WriteString("(")
				}
				args = append(args, value)
				b.WriteString("$" + strconv.Itoa(len(args)))
			}
		}
		b.WriteString(")")
		if err := a.exec(ctx, b.String(), args...); err != nil {
			return err
		}
	}
	return nil
}
