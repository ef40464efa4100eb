package pgbulk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Table names what is written to.
type Table struct {
	// Name is the table's name, with its schema before it if it is not on the search path.
	Name pgx.Identifier
	// Columns are those that the rows have values for, in the order of the values. With [Structs] they may be left
	// out: then they are all the struct's.
	Columns []string
	// Key are the columns of the unique index that decides whether a row exists. Upsert needs them; Insert does not.
	Key []string
}

// Strategy is a way to get rows into a table.
type Strategy string

// The strategies. The zero value is Auto.
const (
	// Auto is Copy for a plain insert. Otherwise it is Bind for what fits in one statement and for large rows (800
	// bytes and more on average in the first Options.ChunkBytes), and Copy for many small ones. It is Bind
	// too where Copy cannot be: without the right to make temporary tables, or with columns that only text gets into.
	Auto Strategy = ""
	// Bind sends INSERT ... VALUES statements with the rows as parameters. A statement has at most 65,535
	// parameters and about Options.ChunkBytes of values; all are sent under one Sync and succeed or fail
	// together. A key that comes twice in a call that updates is PostgreSQL's error, in different statements too:
	// hashes of the keys are remembered for that, 16 to 43 bytes a row. Keys that only the database takes for
	// equal (case-insensitive text, 1.0 and 1.00) are found only within a statement.
	Bind Strategy = "bind"
	// Copy sends the rows as COPY data in binary format, straight into the table for a plain insert and otherwise into
	// a temporary table that one INSERT ... SELECT reads. A key that is twice in the call is PostgreSQL's error.
	Copy Strategy = "copy"
)

// Conflict says what becomes of a row whose key exists.
type Conflict int

// What to do on conflict. The zero value is Update for Upsert and Fail for Insert.
const (
	Default Conflict = iota
	// Update sets the row's other columns to the new values.
	Update
	// Nothing keeps the row as it is. Insert with Nothing and without a key keeps the row on a conflict with any unique index.
	Nothing
	// Fail is PostgreSQL's unique violation.
	Fail
)

// Options are the settings of Upsert and Insert. The zero value is ready for use.
type Options struct {
	Strategy Strategy
	Conflict Conflict
	// Set are the columns that Update sets; when nil, all but the key.
	Set []string
	// ChunkRows is how many rows a statement of the Bind strategy has at most; 0 means as many as ChunkBytes and
	// the protocol allow.
	ChunkRows int
	// ChunkBytes is how many bytes of values a statement of the Bind strategy has at most, unless its only row has
	// more; 512 MB at the most. Auto decides when it has seen as much. 0 means [DefaultChunkBytes].
	ChunkBytes int
}

// DefaultChunkBytes is the default of Options.ChunkBytes.
const DefaultChunkBytes = 256 << 10

// maxParams is how many parameters a Bind message can have: its count is a 16-bit number, see
// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND.
const maxParams = 65535

// check fills in defaults and refuses what cannot work.
func (t *Table) check(o *Options, upsert bool) error {
	switch {
	case len(t.Name) == 0:
		return errors.New("no table name")
	case len(t.Columns) == 0:
		return errors.New("no columns")
	case len(t.Columns) > maxParams:
		return fmt.Errorf("%d columns, more than %d", len(t.Columns), maxParams)
	case upsert && len(t.Key) == 0:
		return errors.New("no key columns")
	case o.Strategy != Auto && o.Strategy != Bind && o.Strategy != Copy:
		return fmt.Errorf("unknown strategy %q", o.Strategy)
	case o.ChunkRows < 0 || o.ChunkBytes < 0:
		return errors.New("negative chunk size")
	}
	for i, c := range t.Columns {
		if slices.Contains(t.Columns[:i], c) {
			return fmt.Errorf("column %q is named twice", c)
		}
	}
	for _, k := range t.Key {
		if !slices.Contains(t.Columns, k) {
			return fmt.Errorf("key column %q is not among the columns", k)
		}
	}
	if o.Conflict == Default {
		o.Conflict = Fail
		if upsert {
			o.Conflict = Update
		}
	}
	switch {
	case o.Conflict < Update || o.Conflict > Fail:
		return fmt.Errorf("unknown conflict action %d", o.Conflict)
	case o.Conflict == Update && len(t.Key) == 0:
		return errors.New("an update on conflict needs key columns")
	case o.Conflict == Update && o.Set == nil:
		for _, c := range t.Columns {
			if !slices.Contains(t.Key, c) {
				o.Set = append(o.Set, c)
			}
		}
	}
	for _, c := range o.Set {
		if !slices.Contains(t.Columns, c) {
			return fmt.Errorf("column %q to set is not among the columns", c)
		}
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = DefaultChunkBytes
	}
	o.ChunkBytes = min(o.ChunkBytes, maxValue/2) // so that a message never becomes too long for many rows' sake
	if limit := maxParams / len(t.Columns); o.ChunkRows == 0 || o.ChunkRows > limit {
		o.ChunkRows = limit
	}
	return nil
}

// quoteAll quotes column names and joins them with commas.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = pgx.Identifier{n}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

// onConflict is the ON CONFLICT clause with a leading space, or nothing.
func (t *Table) onConflict(o *Options) string {
	if o.Conflict == Fail {
		return ""
	}
	var b strings.Builder
	b.WriteString(" on conflict ")
	if len(t.Key) > 0 {
		b.WriteString("(" + quoteAll(t.Key) + ") ")
	}
	// A row that is all key has nothing to be updated.
	if o.Conflict == Nothing || len(o.Set) == 0 {
		b.WriteString("do nothing")
		return b.String()
	}
	b.WriteString("do update set ")
	for i, c := range o.Set {
		if i > 0 {
			b.WriteString(", ")
		}
		q := pgx.Identifier{c}.Sanitize()
		b.WriteString(q + " = excluded." + q)
	}
	return b.String()
}

// insertInto is the beginning of an INSERT statement, up to the source of its rows.
func (t *Table) insertInto() string {
	return "insert into " + t.Name.Sanitize() + " (" + quoteAll(t.Columns) + ") "
}
