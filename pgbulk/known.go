package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// knownTable is what a connection has learned about a table for calls like one that it had, so that
// such a call whose rows fit in one statement takes one round trip. The statement goes after a look
// at the guard, a prepared SELECT of the same columns: the server refuses to describe it once a
// column has another type, collation or name, and holds a lock on the table from then until the
// statement is done.
//
// All else that a catalog says (rules, triggers, defaults, rights) matters only to COPY and to
// several statements. A call that comes to these asks the catalog, as does one in the caller's
// transaction, which a refused guard would abort.
type knownTable struct {
	table      Table
	settings   settings
	structType reflect.Type // whose fields are the columns; nil if they were given
	layout     layout
	guard      string             // its name
	prepared   map[int]*statement // by the number of rows: 1, or unnested
	sent       *statement         // is what the current call sent, if it is kept
}

// mayKnow reports whether a call may use what is known.
func (p *plan) mayKnow() bool {
	known := connectionOf(p.conn)
	return known.mode == pgx.QueryExecModeCacheStatement && !known.prepared.pooled && known.prepared.lost < mayLose && p.conn.PgConn().TxStatus() == 'I' &&
		p.settings.Strategy != Copy && p.settings.Returning == nil
}

// structType is the type whose fields are the columns, if they were not given.
func (p *plan) structType() reflect.Type {
	if p.structs == nil {
		return nil
	}
	return p.structs.typ
}

// serves reports whether a call has the same statements.
func (k *knownTable) serves(p *plan) bool {
	a, b := &k.settings, &p.settings
	return a.op == b.op && a.skipExisting == b.skipExisting && a.SkipUnchanged == b.SkipUnchanged && a.OverridingSystem == b.OverridingSystem &&
		a.Where == b.Where && (a.Set == nil) == (b.Set == nil) && slices.Equal(a.Set, b.Set) && maps.Equal(a.SetTo, b.SetTo) &&
		slices.Equal(k.table.Name, p.table.Name) && slices.Equal(k.table.Key, p.table.Key) && k.table.Conflict == p.table.Conflict &&
		k.structType == p.structType() && (p.structs != nil || slices.Equal(k.table.Columns, p.table.Columns))
}

func (all *prepared) forgetTable(k *knownTable) {
	all.tables = slices.DeleteFunc(all.tables, func(other *knownTable) bool { return other == k })
	all.forgotten = append(all.forgotten, k.guard)
	for _, s := range k.prepared {
		all.forgotten = append(all.forgotten, s.name)
	}
}

// name makes a name for a prepared statement.
func (all *prepared) name() string {
	all.made++
	return "pgbulk_table_" + strconv.Itoa(all.made)
}

// keep keeps what describe has learned, with the guard that it had the server prepare. The first
// answer of a connection says whether there is a pooler, whose client sees another process number
// than the server's: names would be other clients' too there, and a guard would prove nothing.
func (all *prepared) keep(p *plan, guard string) {
	if p.layout.backend != strconv.FormatUint(uint64(p.conn.PgConn().PID()), 10) {
		all.pooled = true
		return
	}
	if all.direct = true; guard == "" {
		return
	}
	k := &knownTable{table: p.table, settings: p.settings, structType: p.structType(), layout: *p.layout, guard: guard, prepared: map[int]*statement{}}
	k.table.Name, k.table.Columns, k.table.Key = slices.Clone(p.table.Name), slices.Clone(p.table.Columns), slices.Clone(p.table.Key)
	k.settings.Set, k.settings.SetTo = slices.Clone(p.settings.Set), maps.Clone(p.settings.SetTo)
	if len(all.tables) >= keptPerConn {
		all.forgetTable(all.tables[0])
	}
	all.tables = append(all.tables, k)
}

var errAltered = errors.New("the table was altered since this call, or an earlier one, asked about it: make the call again")

// refresh asks the catalog in place of what is known. The rows that were encoded before must still
// be what the columns take.
func (c *session) refresh(ctx context.Context) error {
	if c.plan.known == nil {
		return nil
	}
	known := c.plan.known
	connectionOf(c.plan.conn).prepared.forgetTable(known)
	c.plan.known, c.plan.settings.Set = nil, known.settings.Set
	err := c.meanwhile(func() error { return c.plan.describe(ctx) })
	if err == nil && !c.plan.layout.takesRowsOf(&known.layout) {
		err = errAltered
	}
	return err
}

// takesRowsOf reports whether rows that were encoded for another layout are good for this one.
func (l *layout) takesRowsOf(other *layout) bool {
	return slices.Equal(l.columns, other.columns)
}

// settleKnown ends a call that went by what is known: err is why it failed, or nil. If the server
// refused it before a statement ran, it is made again by what the catalog says now.
func (c *session) settleKnown(ctx context.Context, err error) error {
	switch {
	case c.plan.known == nil:
		return err
	case err == nil:
		if c.plan.known.sent != nil {
			c.plan.known.sent.parsed = true
		}
		return nil
	}
	row, ofRow := asType[*rowError](err)
	refused := c.stream != nil && c.stream.answer.pgErr != nil && !c.stream.answer.bound && c.stream.gaveUp == nil
	again, can := c.strategy.(interface{ again() })
	if ctx.Err() != nil || c.pc.IsClosed() || c.pc.TxStatus() != 'I' || !(refused && can) && !(c.stream == nil && ofRow && row.column != "") {
		connectionOf(c.plan.conn).prepared.forgetTable(c.plan.known)
		return err
	}
	if hasCode(err, noStatement) {
		connectionOf(c.plan.conn).prepared.lose()
	}
	fresh := c.refresh(ctx)
	switch {
	case fresh == errAltered && ofRow:
		return fmt.Errorf("%w (%v)", errAltered, err) // of no row: it was encoded for another type
	case fresh == errAltered:
		return fmt.Errorf("%w (%w)", errAltered, err)
	case fresh != nil || !refused:
		return err
	}
	c.stream = nil
	again.again()
	if err := c.strategy.end(ctx); err != nil {
		return err
	}
	return c.end(ctx)
}
