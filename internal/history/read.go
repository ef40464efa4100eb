package history

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"postage/internal/history/trend"
	"postage/internal/verdict"
)

// Records are all records, in the order in which their runs were started.
func (db *DB) Records(ctx context.Context) ([]trend.Entry, error) {
	rows, err := db.db.QueryContext(ctx, `SELECT r.id, r.name, r.started_ms, r.added_ms, m.identity, r.commit_id, r.seed, r.go_version, r.partial, r.cases, r.figures, r.blocks
		FROM postage_record r JOIN postage_machine m ON m.id = r.machine_id ORDER BY r.started_ms, r.id`)
	if err != nil {
		return nil, fmt.Errorf("list the history: %w", err)
	}
	defer rows.Close()
	var entries []trend.Entry
	for rows.Next() {
		var e trend.Entry
		var started, added, partial int64
		if err := rows.Scan(&e.Record, &e.Name, &started, &added, &e.Machine, &e.Commit, &e.Seed, &e.Go, &partial, &e.Cases, &e.Figures, &e.Blocks); err != nil {
			return nil, fmt.Errorf("list the history: %w", err)
		}
		e.Started, e.Added, e.Partial = moment(started), moment(added), partial != 0
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the history: %w", err)
	}
	return entries, nil
}

// Rows are the names of all rows, in alphabetical order.
func (db *DB) Rows(ctx context.Context) ([]string, error) {
	rows, err := db.db.QueryContext(ctx, "SELECT name FROM postage_row ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("list the rows of the history: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list the rows of the history: %w", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the rows of the history: %w", err)
	}
	return names, nil
}

// Trend is how a row changed, on each machine: the machine with the latest run first. It is
// empty for a row that the history does not have.
func (db *DB) Trend(ctx context.Context, row string) ([]*trend.Trend, error) {
	var trends []*trend.Trend
	err := db.Trends(ctx, []string{row}, func(t *trend.Trend) { trends = append(trends, t) })
	return trends, err
}

// Trends gives the trends of several rows to a function, in their order.
func (db *DB) Trends(ctx context.Context, rows []string, take func(*trend.Trend)) error {
	// The records and the figures are read separately and joined here: the database would look up
	// the record of each figure. A record that is added meanwhile is not in the list, so its
	// figures are ignored.
	runs, err := db.runs(ctx)
	if err != nil {
		return fmt.Errorf("trend: read the records: %w", err)
	}
	anchors, err := db.anchors(ctx)
	if err != nil {
		return fmt.Errorf("trend: read the anchors: %w", err)
	}
	for _, row := range rows {
		figures, at, err := db.figures(ctx, row, anchors, len(runs))
		if err != nil {
			return fmt.Errorf("trend of %s: %w", row, err)
		}
		perMachine(row, runs, figures, at, take)
	}
	return nil
}

// perMachine makes a row's trends of its figures.
func perMachine(row string, runs []run, figures []trend.Point, at map[int64]int, take func(*trend.Trend)) {
	points := map[string][]trend.Point{}
	var machines []string // the latest last
	for i := range runs {
		r := &runs[i]
		place, ok := at[r.id]
		if !ok {
			continue
		}
		p := figures[place]
		p.Record, p.Run, p.Started, p.Commit, p.Go, p.Partial = r.id, r.name, r.started, r.commit, r.goVersion, r.partial
		if points[r.machine] == nil {
			points[r.machine] = make([]trend.Point, 0, len(figures))
		}
		points[r.machine] = append(points[r.machine], p)
		machines = append(without(machines, r.machine), r.machine)
	}
	for i := len(machines) - 1; i >= 0; i-- {
		take(trend.New(row, machines[i], points[machines[i]]))
	}
}

// without is the list without a name; most often that is its last one.
func without(list []string, name string) []string {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == name {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

func (db *DB) anchors(ctx context.Context) (map[int64]trend.Anchor, error) {
	rows, err := db.db.QueryContext(ctx, "SELECT id, contender, version FROM postage_anchor")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	anchors := map[int64]trend.Anchor{}
	for rows.Next() {
		var id int64
		var a trend.Anchor
		if err := rows.Scan(&id, &a.Contender, &a.Version); err != nil {
			return nil, err
		}
		anchors[id] = a
	}
	return anchors, rows.Err()
}

// run is what a trend shows of a record.
type run struct {
	id                               int64
	name, machine, commit, goVersion string
	started                          time.Time
	partial                          bool
}

// runs are all records, in the order in which they were started.
func (db *DB) runs(ctx context.Context) ([]run, error) {
	rows, err := db.db.QueryContext(ctx, `SELECT r.id, r.name, m.identity, r.commit_id, r.go_version, r.started_ms, r.partial
		FROM postage_record r JOIN postage_machine m ON m.id = r.machine_id ORDER BY r.started_ms, r.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var runs []run
	for rows.Next() {
		var r run
		var started, partial int64
		if err := rows.Scan(&r.id, &r.name, &r.machine, &r.commit, &r.goVersion, &started, &partial); err != nil {
			return nil, err
		}
		r.started, r.partial = moment(started), partial != 0
		runs = append(runs, r)
	}
	return runs, rows.Err()
}

// figures are a row's figures, at most that many, and where each record's are among them.
func (db *DB) figures(ctx context.Context, row string, anchors map[int64]trend.Anchor, most int) (points []trend.Point, at map[int64]int, err error) {
	rows, err := db.db.QueryContext(ctx, db.kind.sql(`SELECT record_id, anchor_id, ratio, ratio_low, ratio_high, ns, ns_low, ns_high, blocks, allocs, bytes, module, metrics
		FROM postage_figure WHERE row_id = (SELECT id FROM postage_row WHERE name = $1)`), row)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	points, at = make([]trend.Point, 0, most), make(map[int64]int, most)
	for rows.Next() {
		var record int64
		var p trend.Point
		var anchor, allocs, bytes sql.NullInt64
		var ratio, ratioLow, ratioHigh, nsLow, nsHigh sql.NullFloat64
		if err := rows.Scan(&record, &anchor, &ratio, &ratioLow, &ratioHigh, &p.NSOp.Value, &nsLow, &nsHigh, &p.Blocks, &allocs, &bytes, &p.Module, (*[]byte)(&p.Metrics)); err != nil {
			return nil, nil, err
		}
		p.Anchor = anchors[anchor.Int64]
		if ratio.Valid {
			p.Ratio = &verdict.Interval{Value: ratio.Float64, Low: or(ratioLow, 0), High: or(ratioHigh, math.Inf(1))}
		}
		p.NSOp.Low, p.NSOp.High = or(nsLow, math.Inf(-1)), or(nsHigh, math.Inf(1))
		if allocs.Valid {
			p.AllocsOp = &allocs.Int64
		}
		if bytes.Valid {
			p.BytesOp = &bytes.Int64
		}
		at[record] = len(points)
		points = append(points, p)
	}
	return points, at, rows.Err()
}

func or(x sql.NullFloat64, other float64) float64 {
	if x.Valid {
		return x.Float64
	}
	return other
}

// moment is the time of so many milliseconds since 1970, the zero time for 0.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
