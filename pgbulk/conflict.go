package pgbulk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// SQL is a piece of SQL that goes into a statement as it stands, such as a predicate. It is part of
// the program: never build it from what a user typed. In it, t is the row of the table and excluded
// the row of the call:
//
//	pgbulk.Options{SetTo: map[string]pgbulk.SQL{"n": "t.n + excluded.n"}, Where: "t.version < excluded.version"}
type SQL string

// Conflict says what becomes of a row whose key exists.
type Conflict int

// What to do on conflict. The zero value is DoUpdate for Upsert and Fail for Insert.
const (
	_ Conflict = iota
	// DoUpdate sets the row's other columns to the new values.
	DoUpdate
	// DoNothing keeps the row as it is. Insert with DoNothing and without a key keeps the row on a
	// conflict with any unique index.
	DoNothing
	// Fail is PostgreSQL's unique violation.
	Fail
)

// Operation is what a call does with its rows.
type Operation string

// The operations are those of Insert, Upsert, Update and Delete.
const (
	OpInsert Operation = "insert"
	OpUpsert Operation = "upsert"
	OpUpdate Operation = "update"
	OpDelete Operation = "delete"
)

// checkConflict refuses settings about conflicts that do not go together, before anything is sent.
func (t *Table) checkConflict(o *Options, op Operation) error {
	if op.byKey() {
		return t.checkByKey(o, op)
	}
	target := o.Constraint != "" || o.Target != "" || o.TargetWhere != ""
	if o.Conflict == 0 {
		o.Conflict = Fail
		if op == OpUpsert {
			o.Conflict = DoUpdate
		}
	}
	switch {
	case o.Conflict < DoUpdate || o.Conflict > Fail:
		return fmt.Errorf("unknown Conflict %d: want DoUpdate, DoNothing or Fail", o.Conflict)
	case o.Constraint != "" && (o.Target != "" || o.TargetWhere != ""):
		return errors.New("Options.Constraint and Options.Target are both set: give one of them")
	case o.TargetWhere != "" && o.Target == "" && len(t.Key) == 0:
		return errors.New("Options.TargetWhere needs Table.Key or Options.Target")
	case target && o.Conflict == Fail:
		return errors.New("Options.Constraint and Target do nothing where Conflict is Fail: leave them out, or give another Conflict")
	case op == OpUpsert && len(t.Key) == 0 && !target:
		return errors.New("no key columns")
	case o.Conflict == DoUpdate && len(t.Key) == 0 && !target:
		return errors.New("Conflict DoUpdate needs Table.Key, or Options.Constraint or Target")
	case o.Conflict != DoUpdate && (len(o.SetTo) > 0 || o.Where != ""):
		return errors.New("Options.SetTo and Where work only with Conflict DoUpdate")
	}
	return t.checkSet(o)
}

// checkSet refuses to set columns that cannot be set.
func (t *Table) checkSet(o *Options) error {
	for i, c := range o.Set {
		switch {
		case !slices.Contains(t.Columns, c):
			return fmt.Errorf("column %q to set is not among the columns", c)
		case slices.Contains(o.Set[:i], c):
			return fmt.Errorf("column %q is to be set twice", c)
		}
		if _, again := o.SetTo[c]; again {
			return fmt.Errorf("column %q is in Set and in SetTo", c)
		}
	}
	for c, sql := range o.SetTo {
		if slices.Contains(t.Key, c) {
			return fmt.Errorf("column %q is part of the key, by which rows are found, and cannot be set", c)
		}
		if strings.TrimSpace(string(sql)) == "" {
			return fmt.Errorf("the expression for column %q in SetTo is empty", c)
		}
	}
	return nil
}

// fillSet has an update set all columns that the options do not exclude.
func (o *Options) fillSet(t *Table) {
	if o.Set != nil {
		return
	}
	o.Set = []string{}
	for _, c := range t.Columns {
		if _, to := o.SetTo[c]; !to && !slices.Contains(t.Key, c) {
			o.Set = append(o.Set, c)
		}
	}
}

// setNothing says that an update would leave the row as it is.
func (o *Options) setNothing() bool { return len(o.Set) == 0 && len(o.SetTo) == 0 }

// exactKey says that two rows are in conflict if the columns of the key are alike, and only then,
// as far as their bytes tell.
func (t *Table) exactKey(o *Options) bool {
	return len(t.Key) > 0 && o.Target == "" && o.TargetWhere == ""
}

// bytesDecide reports whether two keys are equal only if their bytes are. It knows the types that
// keys mostly have; of others, such as numeric with its 1.0 and 1.00, it says no.
func (l *layout) bytesDecide(key []string) bool {
	for i, c := range l.columns {
		if !slices.Contains(key, c.name) {
			continue
		}
		switch c.oid {
		case pgtype.TextOID, pgtype.VarcharOID:
			if l.attributes[i].folds {
				return false
			}
		case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.UUIDOID, pgtype.ByteaOID, pgtype.OIDOID,
			pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		default:
			return false
		}
	}
	return true
}

// collation is the COLLATE clause of one of our columns, if it has one.
func (l *layout) collation(column string) string {
	for i, c := range l.columns {
		if c.name == column {
			return l.attributes[i].collation
		}
	}
	return ""
}

// assignments are what follows SET.
func (o *Options) assignments() string {
	var b strings.Builder
	comma := func() {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
	}
	for _, c := range o.Set {
		comma()
		q := quote(c)
		b.WriteString(q + " = excluded." + q)
	}
	for _, c := range slices.Sorted(maps.Keys(o.SetTo)) {
		comma()
		b.WriteString(quote(c) + " = " + string(o.SetTo[c]))
	}
	return b.String()
}

// onConflict is the ON CONFLICT clause with a leading space, or nothing.
func (t *Table) onConflict(o *Options) string {
	if o.Conflict == Fail {
		return ""
	}
	var b strings.Builder
	b.WriteString(" on conflict ")
	switch {
	case o.Constraint != "":
		b.WriteString("on constraint " + quote(o.Constraint) + " ")
	case o.Target != "":
		b.WriteString("(" + string(o.Target) + ") ")
	case len(t.Key) > 0:
		b.WriteString("(" + quoteAll(t.Key) + ") ")
	}
	if o.TargetWhere != "" {
		b.WriteString("where (" + string(o.TargetWhere) + ") ")
	}
	// A row with key columns only has nothing to update.
	if o.Conflict == DoNothing || o.setNothing() {
		b.WriteString("do nothing")
		return b.String()
	}
	b.WriteString("do update set " + o.assignments())
	if o.Where != "" {
		b.WriteString(" where (" + string(o.Where) + ")")
	}
	return b.String()
}

// insertParts are the parts of an INSERT statement.
func (t *Table) insertParts(o *Options) (head, tail string) {
	head = "insert into " + t.Name.Sanitize() + " as t (" + quoteAll(t.Columns) + ") "
	if o.OverridingSystem {
		head += "overriding system value "
	}
	return head, t.onConflict(o)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// constraintQuery asks for the columns of a constraint's index.
const constraintQuery = `select a.attname from pg_constraint c join pg_index i on i.indexrelid = c.conindid
	join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
	where c.conrelid = $1::text::regclass and c.conname = $2 and c.contype <> 'x'`

// constraintKey returns the columns of the constraint that decides on conflicts, or none if they
// are not all written.
func constraintKey(ctx context.Context, conn *pgx.Conn, t *Table, o *Options, b *buffers) ([]string, error) {
	rows, err := b.ask(ctx, conn.PgConn(), constraintQuery, t.Name.Sanitize(), o.Constraint)
	if err != nil {
		return nil, err
	}
	var key []string
	for _, r := range rows {
		if !slices.Contains(t.Columns, string(r[0])) {
			return nil, nil
		}
		key = append(key, string(r[0]))
	}
	return key, nil
}
