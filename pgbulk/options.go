package pgbulk

// Strategy is a way to get rows into a table.
type Strategy string

// The strategies. The zero value is Auto.
const (
	// Auto chooses by the rows: docs/pgbulk.md says how.
	Auto Strategy = ""
	// Bind sends INSERT ... VALUES statements with the rows as parameters: at most 65,535 of them a
	// statement, and about 256 KB of values. All are sent under one Sync and succeed or fail
	// together. If a call updates, hashes of its keys are kept, 24 to 48 bytes a row, to find a key
	// that comes again in another statement. They do not find keys that only the database takes for
	// equal (case-insensitive text, 1.0 and 1.00) or that a BEFORE INSERT trigger may change.
	Bind Strategy = "bind"
	// Copy sends the rows as COPY data in binary format, straight into the table for a plain insert
	// and otherwise into a temporary table that one INSERT ... SELECT reads.
	Copy Strategy = "copy"
	// Unnest is Bind with one array a column as parameters, which the server turns into rows: it
	// parses one short statement, whatever the number of rows. It is Bind if unnest cannot give a
	// column back (an array, or a type whose arrays the connection's type map does not know).
	Unnest Strategy = "unnest"
)

// SQL is a piece of SQL that goes into a statement as it stands, such as a predicate. It is part of
// the program: never build it from what a user typed. In it, t is the row of the table and excluded
// the row of the call:
//
//	pgbulk.UpsertOptions{SetTo: map[string]pgbulk.SQL{"n": "t.n + excluded.n"}, Where: "t.version < excluded.version"}
type SQL string

// options are the settings of one operation.
type options interface{ settings() settings }

// InsertOptions are the settings of [Insert]. The zero value is ready for use.
type InsertOptions struct {
	Strategy Strategy
	// SkipExisting leaves rows out that exist, as ON CONFLICT DO NOTHING does: by Table.Conflict or
	// Table.Key, or if neither is given by any unique index.
	SkipExisting bool
	// OverridingSystem writes values into columns that are GENERATED ALWAYS AS IDENTITY.
	OverridingSystem bool
	// Returning has the rows handed out as they are in the table then.
	Returning *Returning
	chunks
}

// UpsertOptions are the settings of [Upsert]. The zero value is ready for use.
type UpsertOptions struct {
	Strategy Strategy
	// Set are the columns that an update sets to the row's values; when nil, all but the key and
	// the columns of SetTo.
	Set []string
	// SetTo are the columns that an update sets to what an expression says, such as "t.n +
	// excluded.n".
	SetTo map[string]SQL
	// Where restricts which existing rows are changed, such as "t.version < excluded.version". The
	// others stay as they are and are not counted in Result.Affected.
	Where SQL
	// SkipUnchanged leaves alone a row that already has the values of Set, byte for byte: it is
	// read, but not written, compressed or logged again. Result.Affected does not count it. SetTo is
	// not compared, so that "updated_at": "now()" is set only where something else changes.
	SkipUnchanged bool
	// OverridingSystem writes values into columns that are GENERATED ALWAYS AS IDENTITY.
	OverridingSystem bool
	// Returning has the rows handed out as they are in the table then.
	Returning *Returning
	chunks
}

// UpdateOptions are the settings of [Update], as in [UpsertOptions]. The zero value is ready for
// use.
type UpdateOptions struct {
	Strategy  Strategy
	Set       []string
	SetTo     map[string]SQL
	Where     SQL
	Returning *Returning
	chunks
}

// chunks are the most rows, and the most bytes of values, that a statement of Bind or Unnest has,
// unless its only row has more. Auto decides when it has seen that many. Tests set them.
type chunks struct{ chunkRows, chunkBytes int }

// usualChunk is how many bytes of values a statement has.
const usualChunk = 256 << 10

// operation is what a call does with its rows.
type operation string

const (
	opInsert operation = "insert"
	opUpsert operation = "upsert"
	opUpdate operation = "update"
)

// settings are the options of any operation.
type settings struct {
	op           operation
	skipExisting bool
	UpsertOptions
}

func (o InsertOptions) settings() settings {
	return settings{opInsert, o.SkipExisting, UpsertOptions{Strategy: o.Strategy,
		OverridingSystem: o.OverridingSystem, Returning: o.Returning, chunks: o.chunks}}
}

func (o UpsertOptions) settings() settings { return settings{op: opUpsert, UpsertOptions: o} }

func (o UpdateOptions) settings() settings {
	return settings{op: opUpdate, UpsertOptions: UpsertOptions{Strategy: o.Strategy, Set: o.Set, SetTo: o.SetTo, Where: o.Where,
		Returning: o.Returning, chunks: o.chunks}}
}
