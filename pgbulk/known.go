package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// knownTable is what a connection has learned about a table, so that a call whose rows fit in one
// statement takes one round trip. The statement goes after a look at the guard, a prepared SELECT
// of the same columns: the server refuses to describe it once a column has another type, collation
// or name, and holds a lock on the table from then until the statement is done.
//
// All else that a catalog says (rules, triggers, defaults, rights) matters only to COPY and to
// several statements. A call that comes to these asks the catalog, as does one in the caller's
// transaction, which a refused guard would abort.
type knownTable struct {
	key      tableKey
	layout   layout
	columns  []string
	guard    string             // its name
	prepared map[string]*insert // by their text
	sent     *insert            // is what the current call sent, if it is kept
}

// insert is a prepared statement that takes rows. Update and Delete have them too.
type insert struct {
	name   string
	parsed bool
}

// tableKey is what the answer about a table depends on.
type tableKey struct {
	op                 operation
	name, columns, key string
	structType         reflect.Type // whose fields are the columns, if they are not given
}

// knownTables are the tables that a connection knows.
type knownTables struct {
	list    []*knownTable
	direct  bool     // no pooler is between
	made    int      // names
	lost    int      // guards that the server had forgotten, as after DISCARD ALL
	toClose []string // names that the server may still have, to be closed
}

// tableKey is the key of the plan's table, and whether a call like this may use what is known.
func (p *plan) tableKey() (key tableKey, ok bool) {
	key = tableKey{op: p.settings.op, name: p.table.Name.Sanitize(), key: strings.Join(p.table.Key, "\x00")}
	if p.structs != nil {
		key.structType = p.structs.typ
	} else {
		key.columns = strings.Join(p.table.Columns, "\x00")
	}
	known := connectionOf(p.conn)
	ok = known.mode == pgx.QueryExecModeCacheStatement && known.tables.lost < mayLose && p.conn.PgConn().TxStatus() == 'I'
	return key, ok && p.settings.Strategy != Copy && p.settings.Returning == nil
}

func (all *knownTables) find(key tableKey) *knownTable {
	for _, k := range all.list {
		if k.key == key {
			return k
		}
	}
	return nil
}

func (all *knownTables) forget(k *knownTable) {
	all.list = slices.DeleteFunc(all.list, func(other *knownTable) bool { return other == k })
	all.toClose = append(all.toClose, k.guard)
	for _, s := range k.prepared {
		all.toClose = append(all.toClose, s.name)
	}
}

// name makes a name for a prepared statement.
func (all *knownTables) name() string {
	all.made++
	return "pgbulk_table_" + strconv.Itoa(all.made)
}

// keep keeps what describe has learned, with the guard that it had the server prepare. The first
// answer of a connection says whether there is a pooler, whose client sees another process number
// than the server's: names would be other clients' too there, and a guard would prove nothing.
func (all *knownTables) keep(key tableKey, guard string, l *layout, columns []string, pid uint32) {
	if l.backend != strconv.FormatUint(uint64(pid), 10) {
		all.lost = mayLose
		return
	}
	if all.direct = true; guard == "" {
		return
	}
	k := &knownTable{key: key, guard: guard, layout: *l, columns: columns, prepared: map[string]*insert{}}
	if len(all.list) >= keptPerConn {
		all.forget(all.list[0])
	}
	all.list = append(all.list, k)
}

var errAltered = errors.New("the table was altered since this call, or an earlier one, asked about it: make the call again")

// refresh asks the catalog in place of what is known. The rows that were encoded before must still
// be what the columns take.
func (c *session) refresh(ctx context.Context) error {
	if c.plan.known == nil {
		return nil
	}
	known := c.plan.known
	connectionOf(c.plan.conn).tables.forget(known)
	c.plan.known = nil
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

// prepare has a statement parsed, if it must be, and returns its name. One that serves any number
// of rows, or a single row, is kept for the next call.
func (c *session) prepare(sql []byte, types []uint32, params int, keep bool) string {
	known := c.plan.known
	if known == nil || !keep || len(known.prepared) >= keptPerConn && known.prepared[string(sql)] == nil {
		c.stream.wire.parse("", alias(sql), types, params)
		return ""
	}
	known.sent = known.prepared[string(sql)]
	if known.sent == nil {
		known.sent = &insert{name: connectionOf(c.plan.conn).tables.name()}
		known.prepared[string(sql)] = known.sent
	}
	if !known.sent.parsed {
		c.stream.wire.parse(known.sent.name, alias(sql), types, params)
	}
	return known.sent.name
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
		connectionOf(c.plan.conn).tables.forget(c.plan.known)
		return err
	}
	if hasCode(err, noStatement) {
		connectionOf(c.plan.conn).tables.lost++
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
