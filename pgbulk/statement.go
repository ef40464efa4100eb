package pgbulk

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statement is a prepared statement and what its parameters are.
type statement struct {
	sql    string
	name   string // "" is the unnamed one, which lasts until the next Parse
	types  []uint32
	shapes []shape
}

// statements are those that a connection keeps, the one used last at the end. They live in the connection's custom data.
type statements struct {
	list []*statement
	next int
}

const (
	statementsKey = "postage/pgbulk statements"
	keptPerConn   = 32
)

func statementsOf(pc *pgconn.PgConn) *statements {
	all, ok := pc.CustomData()[statementsKey].(*statements)
	if !ok {
		all = &statements{}
		pc.CustomData()[statementsKey] = all
	}
	return all
}

// prepare returns a statement of this text that is prepared on the connection, and whether it is a kept one.
func prepare(ctx context.Context, conn *pgx.Conn, sql string, b *buffers) (st *statement, kept bool, err error) {
	pc := conn.PgConn()
	keep := conn.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	all := statementsOf(pc)
	if keep {
		if i := slices.IndexFunc(all.list, func(s *statement) bool { return s.sql == sql }); i >= 0 {
			st := all.list[i]
			all.list = append(slices.Delete(all.list, i, i+1), st)
			return st, true, nil
		}
	}
	st = &statement{sql: sql}
	s := open(ctx, pc, b)
	s.collect = true
	if keep {
		if len(all.list) >= keptPerConn {
			s.about('C', all.list[0].name)
			all.list = slices.Delete(all.list, 0, 1)
		}
		all.next++
		st.name = fmt.Sprintf("pgbulk_%d", all.next)
	}
	s.parseAs(st.name, []byte(sql), nil, 0)
	s.about('D', st.name)
	s.sync()
	if err := s.close(); err != nil {
		return nil, false, err
	}
	st.types = s.params
	for _, oid := range st.types {
		st.shapes = append(st.shapes, shapeOf(conn.TypeMap(), oid))
	}
	if keep {
		all.list = append(all.list, st)
	}
	return st, false, nil
}

// forget drops a statement that may be stale. The server keeps its own side of it until the connection ends.
func forget(pc *pgconn.PgConn, sql string) {
	all := statementsOf(pc)
	all.list = slices.DeleteFunc(all.list, func(s *statement) bool { return s.sql == sql })
}
