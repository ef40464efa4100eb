package history

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"postage/internal/history/trend"
	"postage/internal/verdict"
)

// Records are all records, in the order in which their runs were started.
func (db *DB) Records(ctx context.Context) (entries []trend.Entry, err error) {
	err = each(ctx, db.db, func(scan func(...any) error) error {
		var e trend.Entry
		var started, added int64
		err := scan(&e.Record, &e.Name, &started, &added, &e.Machine, &e.Commit, &e.Seed, &e.Go, &e.Partial, &e.Cases, &e.Figures, &e.Blocks)
		e.Started, e.Added = moment(started), moment(added)
		entries = append(entries, e)
		return err
	}, `SELECT r.id, r.name, r.started_ms, r.added_ms, m.identity, r.commit_id, r.seed, r.go_version, r.partial, r.cases, r.figures, r.blocks
		FROM postage_record r JOIN postage_machine m ON m.id = r.machine_id ORDER BY r.started_ms, r.id`)
	if err != nil {
		return nil, fmt.Errorf("list the history: %w", err)
	}
	return entries, nil
}

// Rows are the names of all rows, in alphabetical order.
func (db *DB) Rows(ctx context.Context) (names []string, err error) {
	err = each(ctx, db.db, func(scan func(...any) error) error {
		names = append(names, "")
		return scan(&names[len(names)-1])
	}, "SELECT name FROM postage_row ORDER BY name")
	if err != nil {
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
	runs, err := db.Records(ctx)
	if err != nil {
		return err
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
func perMachine(row string, runs []trend.Entry, figures []trend.Point, at map[int64]int, take func(*trend.Trend)) {
	points := map[string][]trend.Point{}
	var machines []string // the latest last
	for i := range runs {
		r := &runs[i]
		place, ok := at[r.Record]
		if !ok {
			continue
		}
		p := figures[place]
		p.Record, p.Run, p.Started, p.Commit, p.Go, p.Partial = r.Record, r.Name, r.Started, r.Commit, r.Go, r.Partial
		points[r.Machine] = append(points[r.Machine], p)
		// It goes to the end of the list, where it most often is already.
		if at := slices.Index(machines, r.Machine); at >= 0 {
			machines = slices.Delete(machines, at, at+1)
		}
		machines = append(machines, r.Machine)
	}
	for i := len(machines) - 1; i >= 0; i-- {
		take(trend.New(row, machines[i], points[machines[i]]))
	}
}

func (db *DB) anchors(ctx context.Context) (map[int64]trend.Anchor, error) {
	anchors := map[int64]trend.Anchor{}
	err := each(ctx, db.db, func(scan func(...any) error) error {
		var id int64
		var a trend.Anchor
		err := scan(&id, &a.Contender, &a.Version)
		anchors[id] = a
		return err
	}, "SELECT id, contender, version FROM postage_anchor")
	return anchors, err
}

// figures are a row's figures, at most that many, and where each record's are among them.
func (db *DB) figures(ctx context.Context, row string, anchors map[int64]trend.Anchor, most int) (points []trend.Point, at map[int64]int, err error) {
	points, at = make([]trend.Point, 0, most), make(map[int64]int, most)
	err = each(ctx, db.db, func(scan func(...any) error) error {
		var record int64
		var p trend.Point
		var anchor sql.NullInt64
		var ratio, ratioLow, ratioHigh, nsLow, nsHigh sql.NullFloat64
		err := scan(&record, &anchor, &ratio, &ratioLow, &ratioHigh, &p.NSOp.Value, &nsLow, &nsHigh, &p.Blocks, &p.AllocsOp, &p.BytesOp, &p.Module, (*[]byte)(&p.Metrics))
		p.Anchor = anchors[anchor.Int64]
		if ratio.Valid {
			p.Ratio = &verdict.Interval{Value: ratio.Float64, Low: or(ratioLow, 0), High: or(ratioHigh, math.Inf(1))}
		}
		p.NSOp.Low, p.NSOp.High = or(nsLow, math.Inf(-1)), or(nsHigh, math.Inf(1))
		at[record] = len(points)
		points = append(points, p)
		return err
	}, `SELECT record_id, anchor_id, ratio, ratio_low, ratio_high, ns, ns_low, ns_high, blocks, allocs, bytes, module, metrics
		FROM postage_figure WHERE row_id = (SELECT id FROM postage_row WHERE name = ?)`, row)
	return points, at, err
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
