package pgbulk

import (
	"context"
	"errors"
	"strings"
)

// Update updates the rows of a table whose key a row of the call has. Set, SetTo and Where of the
// options say what is set, and which rows are touched. A key that does not exist is no error, and a
// key with a NULL never exists: Result.Affected is how many rows were updated. A key that occurs
// twice in the call is an error, SQLSTATE 21000, as in Upsert. The error is an *Error.
//
// The table's key here need not have an index, though without one the server reads the whole table.
func Update(ctx context.Context, db DB, t Table, rows Rows, o Options) (Result, error) {
	return call(ctx, db, OpUpdate, t, rows, o)
}

// Delete deletes the rows of a table whose key a row of the call has, and for which Where of the
// options holds. The table's columns are the key if they are left out; more of them serve Where
// alone, such as "t.version = excluded.version". A key that does not exist, or occurs twice, is no
// error: Result.Affected is how many rows were deleted. The error is an *Error.
func Delete(ctx context.Context, db DB, t Table, rows Rows, o Options) (Result, error) {
	return call(ctx, db, OpDelete, t, rows, o)
}

// byKey says that the operation finds its rows by the key, and that there can be no conflict.
func (op Operation) byKey() bool { return op == OpUpdate || op == OpDelete }

// checkByKey refuses settings that an update or a delete cannot have.
func (t *Table) checkByKey(o *Options, op Operation) error {
	switch {
	case len(t.Key) == 0:
		return errors.New("no key columns")
	case o.Conflict != 0 || o.Constraint != "" || o.Target != "" || o.TargetWhere != "":
		return errors.New("options about conflicts work only with Insert and Upsert")
	case o.OverridingSystem:
		return errors.New("Options.OverridingSystem works only with Insert and Upsert")
	case op == OpDelete && (o.Set != nil || len(o.SetTo) > 0):
		return errors.New("Options.Set and SetTo do not work with Delete")
	}
	o.Conflict = Fail
	if op == OpDelete {
		return nil
	}
	if err := t.checkSet(o); err != nil {
		return err
	}
	set := *o
	if set.fillSet(t); set.setNothing() {
		return errors.New("no columns to set")
	}
	return nil
}

// parts are the statement before and after the source of its rows, VALUES or SELECT.
// collation is the COLLATE clause of a column, if it has one.
func (t *Table) parts(op Operation, o *Options, collation func(column string) string) (head, tail string) {
	if op.byKey() {
		return t.byKeyParts(op, o, collation)
	}
	return t.insertParts(o)
}

// times is a column of the source of an update's rows: how many of them have the same key.
const times = "pgbulk_times"

// byKeyParts are the parts of an UPDATE or DELETE statement.
//
// Where two rows have the same key, PostgreSQL's UPDATE ... FROM takes either one. It should fail,
// as INSERT ... ON CONFLICT does and with the same SQLSTATE: that of a subquery with two rows where
// one is allowed. MERGE would, but does not exist before PostgreSQL 15, nor for every kind of
// table.
func (t *Table) byKeyParts(op Operation, o *Options, collation func(column string) string) (head, tail string) {
	same, given, key := make([]string, len(t.Key)), make([]string, len(t.Key)), make([]string, len(t.Key))
	for i, k := range t.Key {
		q := quote(k)
		same[i] = "t." + q + " = excluded." + q
		given[i] = "excluded." + q + " is not null"
		key[i] = q + collation(k) // by which the table's key tells rows apart, a parameter has none
	}
	columns := quoteAll(t.Columns)
	if op == OpDelete {
		head = "delete from " + t.Name.Sanitize() + " as t using ("
		tail = ") as excluded (" + columns + ")"
	} else {
		head = "update " + t.Name.Sanitize() + " as t set " + o.assignments() +
			" from (select *, count(*) over (partition by " + strings.Join(key, ", ") + ") as " + times + " from ("
		tail = ") as given (" + columns + ")) as excluded"
	}
	tail += " where " + strings.Join(same, " and ")
	if op == OpUpdate {
		tail += " and case when excluded." + times + " > 1 and " + strings.Join(given, " and ") +
			" then (select true from generate_series(1, 2)) else true end"
	}
	if o.Where != "" {
		tail += " and (" + string(o.Where) + ")"
	}
	return head, tail
}
