package pgbulk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxParams is how many parameters a Bind message can have: its count is a 16-bit number, see
// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND.
const maxParams = 65535

// check fills in defaults and refuses what cannot work, before anything is sent.
func (s *settings) check(t *Table) error {
	switch {
	case len(t.Name) == 0:
		return errors.New("no table name")
	case len(t.Columns) == 0:
		return errors.New("no columns")
	case len(t.Columns) > maxParams:
		return fmt.Errorf("%d columns, more than %d", len(t.Columns), maxParams)
	case !slices.Contains([]Strategy{Auto, Bind, Copy, Unnest}, s.Strategy):
		return fmt.Errorf("unknown strategy %q", s.Strategy)
	case t.Conflict != "" && s.op == opUpdate:
		return errors.New("Table.Conflict is for Insert and Upsert: name the key's columns in Table.Key")
	case s.op != opInsert && len(t.Key) == 0 && t.Conflict == "":
		return errors.New("no key columns")
	case s.SkipUnchanged && len(s.SetTo) > 0 && s.Set != nil && len(s.Set) == 0:
		return errors.New("SkipUnchanged compares the columns of Set, and Set is empty")
	}
	if err := t.checkColumns(); err != nil {
		return err
	}
	if err := s.checkSet(t); err != nil {
		return err
	}
	s.chunkBytes = cmp.Or(s.chunkBytes, usualChunk)
	if limit := maxParams / len(t.Columns); s.chunkRows == 0 || s.chunkRows > limit {
		s.chunkRows = limit
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

// checkSet refuses to set columns that cannot be set.
func (s *settings) checkSet(t *Table) error {
	for i, c := range s.Set {
		switch {
		case !slices.Contains(t.Columns, c):
			return fmt.Errorf("column %q to set is not among the columns", c)
		case slices.Contains(s.Set[:i], c):
			return fmt.Errorf("column %q is to be set twice", c)
		}
		if _, again := s.SetTo[c]; again {
			return fmt.Errorf("column %q is in Set and in SetTo", c)
		}
	}
	for c, sql := range s.SetTo {
		if slices.Contains(t.Key, c) {
			return fmt.Errorf("column %q is part of the key, by which rows are found, and cannot be set", c)
		}
		if strings.TrimSpace(string(sql)) == "" {
			return fmt.Errorf("the expression for column %q in SetTo is empty", c)
		}
	}
	setsAll := s.Set == nil && slices.ContainsFunc(t.Columns, func(c string) bool { return !slices.Contains(t.Key, c) })
	if s.op == opUpdate && !setsAll && s.setsNothing() {
		return errors.New("no columns to set")
	}
	return nil
}

// fillSet has an update set all columns that the options do not exclude.
func (s *settings) fillSet(t *Table) {
	if s.Set != nil {
		return
	}
	s.Set = make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		if _, to := s.SetTo[c]; !to && !slices.Contains(t.Key, c) {
			s.Set = append(s.Set, c)
		}
	}
}

// setsNothing says that an update would leave the row as it is.
func (s *settings) setsNothing() bool { return len(s.Set) == 0 && len(s.SetTo) == 0 }
