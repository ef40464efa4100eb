package pgbulk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statement is the text of a statement and what its parameters are.
//
// Its description comes from an exchange of its own, and behind a pooler the next exchange may meet
// another backend. So a statement is either parsed in the exchange that binds it, with the types
// that were described, or has a name made of its text and of the parameters' types, so that
// whichever backend has a statement of this name, and no matter who prepared it, it is the right
// one and reads the parameters as they are meant.
type statement struct {
	sql    string
	name   string // "" is the unnamed one
	types  []uint32
	shapes []shape
	params []column // as the last arguments were sent
	parsed bool     // under its name, by this connection; a pooler's other backends do not have it
}

// prepared is what a connection has the server prepare.
type prepared struct {
	statements []*statement // of Exec, the one used last at the end
	tables     []*knownTable
	direct     bool     // no pooler is between
	pooled     bool     // one is
	made       int      // names
	lost       int      // how often the server did not have a statement that it should have had
	forgotten  []string // names that the server may still have, to be closed
}

const (
	// keptPerConn is how many statements, and how many tables, a connection keeps.
	keptPerConn = 32
	// mayLose is how often a connection may lose its statements before it stops naming them. DISCARD
	// ALL and the like lose them once; a pooler does again and again.
	mayLose     = 2
	noStatement = "26000" // invalid_sql_statement_name
)

// describe returns the statement of a text, and whether it was known before.
func (all *prepared) describe(ctx context.Context, conn *pgx.Conn, b *buffers, mode pgx.QueryExecMode, sql string) (st *statement, known bool, err error) {
	keep := mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe
	if i := slices.IndexFunc(all.statements, func(s *statement) bool { return s.sql == sql }); keep && i >= 0 {
		st := all.statements[i]
		all.statements = append(slices.Delete(all.statements, i, i+1), st)
		return st, true, nil
	}
	s := open(ctx, conn.PgConn(), b)
	s.answer.results = new(resultSet)
	s.wire.parse("", sql, nil, 0)
	s.wire.message('D', "S")
	s.sync()
	if err := s.close(ctx); err != nil {
		return nil, false, err
	}
	st = &statement{sql: sql, types: s.answer.results.params}
	h := sha256.New()
	for i, oid := range st.types {
		binary.Write(h, binary.BigEndian, oid)
		st.shapes = append(st.shapes, shapeOf(conn.TypeMap(), oid))
		st.params = append(st.params, column{name: fmt.Sprintf("$%d", i+1), oid: oid})
	}
	if mode == pgx.QueryExecModeCacheStatement && all.lost < mayLose {
		h.Write([]byte(sql))
		st.name = fmt.Sprintf("pgbulk_%x", h.Sum(nil)[:20])
	}
	if keep {
		if len(all.statements) >= keptPerConn {
			all.forget(all.statements[0])
		}
		all.statements = append(all.statements, st)
	}
	return st, false, nil
}

// parse has a statement parsed that is not known to be there, after the end of what has its name.
func (all *prepared) parse(s *stream, st *statement) {
	if st.parsed {
		return
	}
	if st.name != "" {
		all.forgotten = append(all.forgotten, st.name)
	}
	all.closeForgotten(s)
	s.wire.parse(st.name, st.sql, st.types, len(st.types))
}

// closeForgotten has the server close what was forgotten.
func (all *prepared) closeForgotten(s *stream) {
	for _, name := range all.forgotten {
		s.wire.message('C', "S"+name)
	}
	all.forgotten = all.forgotten[:0]
}

// forget drops a statement. The server's side of it is closed with the next one that is parsed.
func (all *prepared) forget(st *statement) {
	all.statements = slices.DeleteFunc(all.statements, func(s *statement) bool { return s == st })
	if st.parsed {
		all.forgotten = append(all.forgotten, st.name)
	}
}

// lose notes that the server does not have a statement that it should have. It has none then.
func (all *prepared) lose() {
	all.lost++
	all.tables = nil
	for _, st := range all.statements {
		if st.parsed = false; all.lost >= mayLose {
			st.name = ""
		}
	}
}

// outdated reports whether an error before a statement began to run may come from what is known of
// it being outdated, and notes that. After classes 22, data exception, and 42, syntax error or
// access rule violation, its parameters may have other types.
func (all *prepared) outdated(st *statement, e *pgconn.PgError) bool {
	switch {
	case e.Code == noStatement:
		all.lose()
	case e.Code == "0A000": // cached plan must not change result type
		st.parsed = false
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "42"):
		all.forget(st)
	default:
		return false
	}
	return true
}
