package pgbulk_test

import (
	"context"
	"iter"
	"time"

	"postage/pgbulk"
)

// operation is a call.
type operation string

const (
	opInsert operation = "insert"
	opUpsert operation = "upsert"
	opUpdate operation = "update"
	opDelete operation = "delete"
)

// settings are the options of any call, so that a test can draw them before the call. A row is
// searched for unless LocateWithin is below 0.
type settings struct {
	Strategy              pgbulk.Strategy
	SkipExisting          bool // makes an upsert an insert that skips rows
	Set                   []string
	SetTo                 map[string]pgbulk.SQL
	Where                 pgbulk.SQL
	SkipUnchanged         bool
	OverridingSystem      bool
	Returning             *pgbulk.Returning
	LocateWithin          time.Duration
	ChunkRows, ChunkBytes int
	Every                 int // rows after which a Writer is flushed
}

// of are the options of an operation.
func (o settings) of(op operation) pgbulk.Options {
	within := max(0, o.LocateWithin)
	if o.LocateWithin == 0 {
		within = 5 * time.Second
	}
	var options pgbulk.Options
	switch {
	case op == opInsert || op == opUpsert && o.SkipExisting:
		options = pgbulk.InsertOptions{Strategy: o.Strategy, SkipExisting: o.SkipExisting, OverridingSystem: o.OverridingSystem, Returning: o.Returning, LocateWithin: within}
	case op == opUpsert:
		options = pgbulk.UpsertOptions{Strategy: o.Strategy, Set: o.Set, SetTo: o.SetTo, Where: o.Where,
			SkipUnchanged: o.SkipUnchanged, OverridingSystem: o.OverridingSystem, Returning: o.Returning, LocateWithin: within}
	case op == opUpdate:
		options = pgbulk.UpdateOptions{Strategy: o.Strategy, Set: o.Set, SetTo: o.SetTo, Where: o.Where, Returning: o.Returning, LocateWithin: within}
	default:
		options = pgbulk.DeleteOptions{Strategy: o.Strategy, Where: o.Where, Returning: o.Returning, LocateWithin: within}
	}
	return pgbulk.WithChunks(options, o.ChunkRows, o.ChunkBytes)
}

// callFunc is one of the four calls.
type callFunc = func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Source, settings) (pgbulk.Result, error)

// call makes the call of an operation.
func (op operation) call(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	switch o := o.of(op).(type) {
	case pgbulk.InsertOptions:
		return pgbulk.Insert(ctx, db, t, rows, o)
	case pgbulk.UpsertOptions:
		return pgbulk.Upsert(ctx, db, t, rows, o)
	case pgbulk.UpdateOptions:
		return pgbulk.Update(ctx, db, t, rows, o)
	}
	return pgbulk.Delete(ctx, db, t, rows, o.of(op).(pgbulk.DeleteOptions))
}

func insert(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	return opInsert.call(ctx, db, t, rows, o)
}

func upsert(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	return opUpsert.call(ctx, db, t, rows, o)
}

func update(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	return opUpdate.call(ctx, db, t, rows, o)
}

func remove(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	return opDelete.call(ctx, db, t, rows, o)
}

// pushing is a Writer that may be flushed after every so many rows, and whose results are added up.
type pushing struct {
	*pgbulk.Writer[[]any]
	every, n  int
	committed pgbulk.Result
}

func newWriter(ctx context.Context, db pgbulk.DB, op operation, t pgbulk.Table, o settings) *pushing {
	return &pushing{every: o.Every, Writer: pgbulk.NewWriter(func(rows iter.Seq[[]any]) (pgbulk.Result, error) {
		return op.call(ctx, db, t, pgbulk.Values(rows), o)
	})}
}

func (p *pushing) Write(row []any) error {
	if err := p.Writer.Write(row); err != nil {
		return err
	}
	if p.n++; p.every > 0 && p.n >= p.every {
		return p.Flush()
	}
	return nil
}

func (p *pushing) Flush() error {
	r, err := p.Writer.Flush()
	p.committed.Rows += r.Rows
	p.committed.Affected += r.Affected
	p.n = 0
	return err
}
