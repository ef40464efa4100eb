package pgbulk_test

import (
	"context"

	"postage/pgbulk"
)

// operation is a call.
type operation string

const (
	opInsert operation = "insert"
	opUpsert operation = "upsert"
	opUpdate operation = "update"
)

// settings are the options of any call, so that a test can draw them before the call.
type settings struct {
	Strategy              pgbulk.Strategy
	SkipExisting          bool // makes an upsert an insert that skips rows
	Set                   []string
	SetTo                 map[string]pgbulk.SQL
	Where                 pgbulk.SQL
	SkipUnchanged         bool
	OverridingSystem      bool
	Returning             *pgbulk.Returning
	ChunkRows, ChunkBytes int
}

// of are the options of an operation.
func (o settings) of(op operation) pgbulk.Options {
	var options pgbulk.Options
	switch {
	case op == opInsert || op == opUpsert && o.SkipExisting:
		options = pgbulk.InsertOptions{Strategy: o.Strategy, SkipExisting: o.SkipExisting, OverridingSystem: o.OverridingSystem, Returning: o.Returning}
	case op == opUpsert:
		options = pgbulk.UpsertOptions{Strategy: o.Strategy, Set: o.Set, SetTo: o.SetTo, Where: o.Where,
			SkipUnchanged: o.SkipUnchanged, OverridingSystem: o.OverridingSystem, Returning: o.Returning}
	default:
		options = pgbulk.UpdateOptions{Strategy: o.Strategy, Set: o.Set, SetTo: o.SetTo, Where: o.Where, Returning: o.Returning}
	}
	return pgbulk.WithChunks(options, o.ChunkRows, o.ChunkBytes)
}

// callFunc is one of the three calls.
type callFunc = func(context.Context, pgbulk.DB, pgbulk.Table, pgbulk.Source, settings) (pgbulk.Result, error)

// call makes the call of an operation.
func (op operation) call(ctx context.Context, db pgbulk.DB, t pgbulk.Table, rows pgbulk.Source, o settings) (pgbulk.Result, error) {
	switch o := o.of(op).(type) {
	case pgbulk.InsertOptions:
		return pgbulk.Insert(ctx, db, t, rows, o)
	case pgbulk.UpsertOptions:
		return pgbulk.Upsert(ctx, db, t, rows, o)
	}
	return pgbulk.Update(ctx, db, t, rows, o.of(op).(pgbulk.UpdateOptions))
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
