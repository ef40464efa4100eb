package pgbulk

import (
	"maps"
	"slices"
	"strings"
)

// parts are the statement before and after the source of its rows, VALUES or SELECT. collation is
// the COLLATE clause of a column, if it has one.
func (s *settings) parts(t *Table, collation func(column string) string) (head, tail string) {
	if s.op == opUpdate {
		return s.updateParts(t, collation)
	}
	head = "insert into " + t.Name.Sanitize() + " as t (" + quoteAll(t.Columns) + ") "
	if s.OverridingSystem {
		head += "overriding system value "
	}
	return head, s.onConflict(t)
}

// onConflict is the ON CONFLICT clause with a leading space, or nothing.
func (s *settings) onConflict(t *Table) string {
	if s.op == opInsert && !s.skipExisting {
		return ""
	}
	var b strings.Builder
	b.WriteString(" on conflict ")
	switch {
	case t.Conflict != "":
		b.WriteString(string(t.Conflict) + " ")
	case len(t.Key) > 0:
		b.WriteString("(" + quoteAll(t.Key) + ") ")
	}
	// A row with key columns only has nothing to update.
	if s.skipExisting || s.setsNothing() {
		return b.String() + "do nothing"
	}
	b.WriteString("do update set " + s.assignments())
	if where := s.changing(); where != "" {
		b.WriteString(" where (" + where + ")")
	}
	return b.String()
}

// assignments are what follows SET.
func (s *settings) assignments() string {
	var list []string
	for _, c := range s.Set {
		q := quote(c)
		list = append(list, q+" = excluded."+q)
	}
	for _, c := range slices.Sorted(maps.Keys(s.SetTo)) {
		list = append(list, quote(c)+" = "+string(s.SetTo[c]))
	}
	return strings.Join(list, ", ")
}

// changing is the condition on which an upsert changes a row: Where, and with SkipUnchanged that
// the row is not already as the row of the call would make it.
//
// It compares bytes (*<> of two records,
// https://www.postgresql.org/docs/current/functions-comparisons.html#COMPOSITE-TYPE-COMPARISON) and
// not values: that works for every type, json too, and values that are equal but not the same, such
// as 1.0 and 1.00, are written.
func (s *settings) changing() string {
	if !s.SkipUnchanged {
		return string(s.Where)
	}
	record := func(row string) string {
		columns := make([]string, len(s.Set))
		for i, c := range s.Set {
			columns[i] = row + "." + quote(c)
		}
		return "row(" + strings.Join(columns, ", ") + ")::record" // without the cast it would be a comparison column by column
	}
	changed := record("t") + " operator(pg_catalog.*<>) " + record("excluded")
	if s.Where != "" {
		changed = "(" + string(s.Where) + ") and " + changed
	}
	return changed
}

// times is a column of the source of an update's rows: how many of them have the same key.
const times = "pgbulk_times"

// updateParts are the parts of an UPDATE statement. Without collations, each key is known to come
// once.
//
// Where two rows have the same key, PostgreSQL's UPDATE ... FROM takes either one. It should fail,
// as INSERT ... ON CONFLICT does and with the same SQLSTATE: a subquery gives two rows where
// one is allowed. MERGE would, but does not exist before PostgreSQL 15, nor for every kind of
// table.
func (s *settings) updateParts(t *Table, collation func(column string) string) (head, tail string) {
	same, given, key := make([]string, len(t.Key)), make([]string, len(t.Key)), make([]string, len(t.Key))
	for i, k := range t.Key {
		q := quote(k)
		same[i] = "t." + q + " = excluded." + q
		given[i] = "excluded." + q + " is not null"
		if collation != nil {
			key[i] = q + collation(k) // by which the table's key tells rows apart, a parameter has none
		}
	}
	columns := quoteAll(t.Columns)
	if head = "update " + t.Name.Sanitize() + " as t set " + s.assignments() + " from ("; collation == nil {
		tail = ") as excluded (" + columns + ")"
	} else {
		head += "select *, count(*) over (partition by " + strings.Join(key, ", ") + ") as " + times + " from ("
		tail = ") as given (" + columns + ")) as excluded"
	}
	tail += " where " + strings.Join(same, " and ")
	if collation != nil {
		tail += " and case when excluded." + times + " > 1 and " + strings.Join(given, " and ") +
			" then (select true from generate_series(1, 2)) else true end"
	}
	if s.Where != "" {
		tail += " and (" + string(s.Where) + ")"
	}
	return head, tail
}

// quote is pgx.Identifier's Sanitize for one name, with an allocation for four.
func quote(name string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(name, "\x00", ""), `"`, `""`) + `"`
}

// quoteAll quotes column names and joins them with commas.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}
