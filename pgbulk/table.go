package pgbulk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Table names what is written to.
type Table struct {
	// Name is the table's name, with its schema before it if it is not on the search path.
	Name pgx.Identifier
	// Columns are those that the rows have values for, in the order of the values. With [Structs]
	// they may be left out: then they are all the struct's.
	Columns []string
	// Key are the columns of the unique index that decides whether a row exists. All calls but
	// Insert need them.
	Key []string
}

// Strategy is a way to get rows into a table.
type Strategy string

// The strategies. The zero value is Auto.
const (
	// Auto is Copy for a plain insert of 30 rows or more than 64 KB, and for many small rows: more
	// than one statement of them (Options.ChunkBytes), of less than 800 bytes on average. Other
	// inserts and large rows take Bind. Small rows take Unnest from 30 rows up to one statement of
	// them, or if the temporary table cannot be made; fewer than 30 take Bind. Values that can only
	// be sent as text, or are left to their DEFAULT, take Bind. More than one statement of rows
	// whose keys only the database can compare (case-insensitive text, 1.0 and 1.00, keys that a
	// trigger may make) is Copy, whatever their size.
	Auto Strategy = ""
	// Bind sends INSERT ... VALUES statements with the rows as parameters. A statement has at most
	// 65,535 parameters and about Options.ChunkBytes of values; all are sent under one Sync and
	// succeed or fail together. A key that occurs twice in a call that updates is PostgreSQL's
	// error, even if the rows are in different statements: for that, hashes of the keys are kept,
	// 16 to 43 bytes a row. Keys that only the database considers equal (case-insensitive text, 1.0
	// and 1.00), and all keys where a BEFORE INSERT trigger may change them, are found only within
	// a statement.
	Bind Strategy = "bind"
	// Copy sends the rows as COPY data in binary format, straight into the table for a plain insert
	// and otherwise into a temporary table that one INSERT ... SELECT reads. A key that is twice in
	// the call is PostgreSQL's error.
	Copy Strategy = "copy"
	// Unnest is Bind with one array per column as parameters, which the server turns into rows: it
	// parses one short statement, whatever the number of rows. It is Bind if unnest cannot give a
	// column back (an array, or a type whose arrays the connection's type map does not know).
	Unnest Strategy = "unnest"
)

// Options are the settings of a call. The zero value is ready for use.
type Options struct {
	Strategy Strategy
	Conflict Conflict
	// Constraint is the name of the unique constraint that decides whether a row exists, in place
	// of Table.Key. If the key is not given, it is the constraint's columns.
	Constraint string
	// Target is what decides whether a row exists, in place of Table.Key: the expressions of a
	// unique index, such as "lower(email)", with commas between them.
	Target SQL
	// TargetWhere is the predicate of a partial unique index that decides whether a row exists.
	TargetWhere SQL
	// Set are the columns that an update sets to the row's values; when nil, all but the key and
	// those of SetTo.
	Set []string
	// SetTo are the columns that an update sets to what an expression says, such as "t.n +
	// excluded.n".
	SetTo map[string]SQL
	// Where restricts which existing rows are changed, such as "t.version < excluded.version". The
	// others stay as they are and are not counted in Result.Affected.
	Where SQL
	// Returning has the rows handed out as they are in the table then.
	Returning *Returning
	// SkipUnchanged leaves alone a row that already has the values of Set, byte for byte: it is
	// read, but not written, compressed or logged again. Result.Affected does not count it.
	SkipUnchanged bool
	// Compression is how values are compressed whose column names no method, in place of the
	// server's default_toast_compression. It changes only how they are stored. It puts the call in
	// a transaction and takes two more round trips, or three in the caller's transaction.
	Compression Compression
	// Order is the order in which an upsert locks the rows that exist. Calls that lock the same
	// rows in the same order do not deadlock.
	Order Order
	// Retries is how often a call outside a transaction is repeated when the server has undone it
	// because of another transaction: serialization failure (SQLSTATE 40001) and deadlock (40P01).
	// The rows must come from [Slice] or be [Rows.Repeatable].
	Retries int
	// OverridingSystem writes values into columns that are GENERATED ALWAYS AS IDENTITY.
	OverridingSystem bool
	// ChunkRows is how many rows a statement of the Bind strategy has at most; 0 means as many as
	// ChunkBytes and the protocol allow.
	ChunkRows int
	// ChunkBytes is how many bytes of values a statement of the Bind strategy has at most, unless
	// its only row has more. Auto decides when it has seen that many. The limit is 512 MB. 0 means
	// [DefaultChunkBytes].
	ChunkBytes int
	// LocateWithin is how long a call may search for the row that a constraint or a trigger
	// refused, which the server does not name. It tries the rows again, by halves, in a transaction
	// that is rolled back: triggers fire again, at most twice for each row. 0 means
	// [DefaultLocateWithin]; below 0 there is no search, and the error says so.
	LocateWithin time.Duration
}

// Order is the order in which an upsert goes through its rows.
type Order int

// The orders. The zero value sorts by key where that is nearly free: where one statement of Bind or
// Unnest has all rows (Options.ChunkBytes), no rows are returned, and the server fills in no other
// columns, such as from a sequence.
const (
	DefaultOrder Order = iota
	// KeyOrder has the server sort the rows by their key. Auto takes Copy for more than one
	// statement of them, where the sort takes 3% (of rows in no order) to 25% (of rows in order)
	// more of the server's CPU time. More than one statement of Bind or Unnest is an error.
	KeyOrder
	// SourceOrder leaves the rows as they come.
	SourceOrder
)

// DefaultLocateWithin is the default of Options.LocateWithin.
const DefaultLocateWithin = 5 * time.Second

// DefaultChunkBytes is the default of Options.ChunkBytes.
const DefaultChunkBytes = 256 << 10

// maxParams is how many parameters a Bind message can have: its count is a 16-bit number, see
// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND.
const maxParams = 65535

// check fills in defaults and refuses what cannot work.
func (t *Table) check(o *Options, op Operation) error {
	switch {
	case len(t.Name) == 0:
		return errors.New("no table name")
	case len(t.Columns) == 0:
		return errors.New("no columns")
	case len(t.Columns) > maxParams:
		return fmt.Errorf("%d columns, more than %d", len(t.Columns), maxParams)
	case !slices.Contains([]Strategy{Auto, Bind, Copy, Unnest}, o.Strategy):
		return fmt.Errorf("unknown strategy %q", o.Strategy)
	case o.Order < DefaultOrder || o.Order > SourceOrder:
		return fmt.Errorf("unknown order %d", o.Order)
	case o.Retries < 0:
		return errors.New("Options.Retries is negative")
	case o.ChunkRows < 0 || o.ChunkBytes < 0:
		return errors.New("Options.ChunkRows or ChunkBytes is negative")
	}
	if err := t.checkColumns(); err != nil {
		return err
	}
	if err := t.checkConflict(o, op); err != nil {
		return err
	}
	if err := o.checkUnchanged(op); err != nil {
		return err
	}
	if err := o.Compression.check(); err != nil {
		return err
	}
	if o.LocateWithin == 0 {
		o.LocateWithin = DefaultLocateWithin
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = DefaultChunkBytes
	}
	o.ChunkBytes = min(o.ChunkBytes, maxValue/2) // so that many rows never make a message too long
	if limit := maxParams / len(t.Columns); o.ChunkRows == 0 || o.ChunkRows > limit {
		o.ChunkRows = limit
	}
	return nil
}

// checkColumns refuses columns that are named twice, and keys that are no columns.
func (t *Table) checkColumns() error {
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
	return nil
}

// quoteAll quotes column names and joins them with commas.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}
