package pgbulk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statement is the text of a statement and what its parameters are.
//
// Its description comes from an exchange of its own, and behind a pooler the next exchange may meet
// another backend. So a statement is either parsed in the exchange that binds it, with the types
// that were described, or has a name that no other statement can have: see [statementName].
type statement struct {
	sql    string
	name   string // "" is the unnamed one, which lasts until the next Parse
	types  []uint32
	shapes []shape
	parsed bool // under its name, by this connection; a pooler's other backends do not have it
}

// statements are those that a connection knows, the one used last at the end. They live in the
// connection's custom data.
type statements struct {
	list []*statement
	mode pgx.QueryExecMode
	gone []string // names that the server may still have, to be closed
	lost int      // how often the server did not have a statement that it should have had
}

const (
	statementsKey = "postage/pgbulk statements"
	keptPerConn   = 32
	// mayLose is how many statements a connection may lose before it stops naming them. DISCARD ALL
	// and the like lose one; a pooler loses more.
	mayLose = 2
)

func statementsOf(conn *pgx.Conn) *statements {
	data := conn.PgConn().CustomData()
	all, ok := data[statementsKey].(*statements)
	if !ok {
		all = &statements{mode: conn.Config().DefaultQueryExecMode}
		data[statementsKey] = all
	}
	return all
}

// statementName is made of the text and of the parameters' types, so that whichever backend has a
// statement of this name, and no matter who prepared it, it is the right one and reads the
// parameters as they are meant.
func statementName(sql string, types []uint32) string {
	h := sha256.New()
	for _, oid := range types {
		binary.Write(h, binary.BigEndian, oid)
	}
	h.Write([]byte(sql))
	return "pgbulk_" + hex.EncodeToString(h.Sum(nil)[:20])
}

// statement returns the statement of a text, described, and whether it was known before.
func (all *statements) statement(ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode, sql string, b *buffers) (st *statement, known bool, err error) {
	keep := mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe
	if keep {
		if i := slices.IndexFunc(all.list, func(s *statement) bool { return s.sql == sql }); i >= 0 {
			st := all.list[i]
			all.list = append(slices.Delete(all.list, i, i+1), st)
			return st, true, nil
		}
	}
	s := open(ctx, conn.PgConn(), b)
	s.collect = true
	s.parse([]byte(sql), nil, 0)
	s.about('D', "")
	s.sync()
	if err := s.close(); err != nil {
		return nil, false, err
	}
	st = &statement{sql: sql, types: s.params}
	for _, oid := range st.types {
		st.shapes = append(st.shapes, shapeOf(conn.TypeMap(), oid))
	}
	if mode == pgx.QueryExecModeCacheStatement && all.lost < mayLose {
		st.name = statementName(sql, st.types)
	}
	if keep {
		if len(all.list) >= keptPerConn {
			all.forget(all.list[0])
		}
		all.list = append(all.list, st)
	}
	return st, false, nil
}

// forget drops a statement. The server's side of it is closed with the next one that is parsed.
func (all *statements) forget(st *statement) {
	all.list = slices.DeleteFunc(all.list, func(s *statement) bool { return s == st })
	if st.parsed {
		all.gone = append(all.gone, st.name)
	}
}

// lose notes that the server did not have a statement that was parsed before. After mayLose of
// them, statements get no more names.
func (all *statements) lose(st *statement) {
	st.parsed = false
	if all.lost++; all.lost < mayLose {
		return
	}
	for _, st := range all.list {
		if st.parsed {
			all.gone = append(all.gone, st.name)
		}
		st.name, st.parsed = "", false
	}
}

// stale is how an error before a statement began to run shows that what is known of it is outdated.
type stale int

const (
	fresh     stale = iota // nothing
	lost                   // the server does not have it
	outdated               // the server has it for a table that was altered since
	misjudged              // its parameters may have changed their types
)

// staleness reads the error of a statement that was known before. SQLSTATE 26000 is
// invalid_sql_statement_name, 0A000 is "cached plan must not change result type", and class 42 is
// syntax error or access rule violation.
func staleness(e *pgconn.PgError) stale {
	switch {
	case e.Code == "26000":
		return lost
	case e.Code == "0A000":
		return outdated
	case len(e.Code) == 5 && e.Code[:2] == "42":
		return misjudged
	}
	return fresh
}
