package pgbulk

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Table names what is written to.
type Table struct {
	// Name is the table's name, with its schema before it if it is not on the search path.
	Name pgx.Identifier
	// Columns are what the rows have values for, in the order of the values. If the rows are
	// [Structs] and there are none, they are the columns of the table that the fields match.
	Columns []string
	// Key are the columns of the unique index that decides whether a row exists. All calls but
	// Insert need them, or for Upsert Conflict.
	Key []string
	// Conflict is what follows ON CONFLICT in Upsert, and in Insert with SkipExisting, if Key alone
	// does not say it: "on constraint accounts_key", "(lower(email))", "(id) where active". An upsert
	// then leaves the columns of Key as they are, unless it is told to set them.
	Conflict SQL
}

// Result is what a call did.
type Result struct {
	Rows     int      // rows that the source had
	Affected int64    // rows that the server inserted or updated
	Strategy Strategy // that was taken
}

// Insert writes rows to a table. The key, if given, matters only for o.SkipExisting. The error is
// an *Error.
func Insert(ctx context.Context, db DB, t Table, rows Source, o InsertOptions) (Result, error) {
	return write(ctx, db, t, rows, o)
}

// Upsert inserts rows, and updates the rows of the table whose key exists. The error is an *Error.
func Upsert(ctx context.Context, db DB, t Table, rows Source, o UpsertOptions) (Result, error) {
	return write(ctx, db, t, rows, o)
}

// Update updates the rows of a table whose key a row of the call has. A key that does not exist is
// no error, and a key with a NULL never exists: Result.Affected is how many rows were updated. A
// key that occurs twice in the call is an error, SQLSTATE 21000, as in Upsert. The error is an
// *Error.
//
// The table's key here need not have an index, though without one the server reads the whole table.
func Update(ctx context.Context, db DB, t Table, rows Source, o UpdateOptions) (Result, error) {
	return write(ctx, db, t, rows, o)
}

func write(ctx context.Context, db DB, t Table, rows Source, o options) (result Result, err error) {
	if rows.err != nil {
		return Result{}, newError(string(o.settings().op), t.Name.Sanitize(), rows.err)
	}
	p, err := newPlan(ctx, db, t, rows.structs, o)
	if err != nil {
		return Result{}, err
	}
	defer p.release()
	if p.structs != nil { // there is no statement to tell a tracer before
		err = p.describe(ctx)
	}
	ctx, ended := p.traced(ctx)
	failed := errNoEnd
	defer func() { ended(result, failed) }()
	if p.structs == nil {
		err = p.describe(ctx)
	}
	if err == nil {
		result, err = p.send(ctx, rows)
	}
	failed = err
	return result, err
}

// plan is a call that has been checked, on a connection that is ready, with what the server says
// about the table once it was described.
type plan struct {
	settings settings
	table    Table
	conn     *pgx.Conn
	release  func()
	structs  *structs // whose fields name the columns; nil if the columns were given
	rowType  *structs // what the rows are, if they are structs
	omitted  []string // columns whose zero values are left out
	layout   *layout
	known    *knownTable // which layout is from; nil if the server was asked
	returned *returned   // nil if nothing is
}

// newPlan checks a call and takes its connection. The error is an *Error.
func newPlan(ctx context.Context, db DB, t Table, rowType *structs, o options) (*plan, error) {
	p := &plan{settings: o.settings(), table: t, rowType: rowType}
	if len(t.Columns) == 0 && len(t.Name) > 0 && rowType != nil && len(rowType.fields) > 0 {
		p.structs = rowType
	}
	var err error
	if p.structs == nil {
		if err = p.settings.check(&p.table); err != nil {
			return nil, p.error(err)
		}
	}
	if p.conn, p.release, err = acquire(ctx, db); err != nil {
		return nil, p.error(err)
	}
	return p, nil
}

// describe asks the server about the table. The error is an *Error.
func (p *plan) describe(ctx context.Context) (err error) {
	b := pool.Get().(*buffers)
	defer b.put()
	defer func() {
		if err != nil {
			e := p.error(err)
			e.Closed, err = p.conn.PgConn().IsClosed(), e
		}
	}()
	known, err := p.recall()
	if !known && err == nil {
		err = p.learn(ctx, b)
	}
	if err != nil {
		return err
	}
	p.omitted = p.rowType.omitting(p.table.Columns)
	p.settings.fillSet(&p.table)
	if p.settings.Returning != nil {
		p.returned, err = p.returning()
	}
	return err
}

// returns is the RETURNING clause with a leading space, or nothing.
func (p *plan) returns() string {
	if p.returned == nil {
		return ""
	}
	return p.returned.clause
}

func (p *plan) error(err error) *Error {
	return newError(string(p.settings.op), p.table.Name.Sanitize(), err)
}

// send writes rows. The error is an *Error.
func (p *plan) send(ctx context.Context, rows Source) (Result, error) {
	if rows.open == nil {
		return Result{}, p.error(errNoSource)
	}
	source, err := rows.open(slices.Clip(p.table.Columns))
	if err != nil {
		return Result{}, p.error(err)
	}
	result, err := p.start().run(ctx, rows.run(source))
	if err == nil {
		rows.taken.Store(false)
	}
	return result, err
}
