package pgbulk

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrTooLarge is wrapped by the error about a value, or the parameters of one statement, of more
// than PostgreSQL takes: a message and a value are smaller than 1 GB
// (https://www.postgresql.org/docs/current/limits.html). Nothing of such a value has been sent.
var ErrTooLarge = errors.New("more than PostgreSQL's limit of 1 GB")

// Error is the error of all calls. It wraps the cause: a [*pgconn.PgError] from the server, the
// context's cause if it ended, the error of the source of rows, or a network error.
type Error struct {
	Op    string // "insert", "upsert", "update" or "exec"
	Table string // quoted; "" for Exec

	// Row and LastRow are the first and last row, counted from 0, that the error may be about. They
	// are equal if the row is known, and -1 if nothing is, if the error is not about a row, and for
	// Exec. Of a constraint or a trigger the server names no row but to COPY straight into a table.
	Row, LastRow int
	// FirstRow is, if the key of Row is twice in one call, the row that had it first; else -1.
	FirstRow int
	// Column is the column that the error is about, or for Exec the parameter, such as "$3"; "" if
	// it is about none or not known.
	Column string

	// Closed reports that the connection was closed, because it was out of step with the protocol.
	Closed bool
	// Uncertain reports that the connection was lost after everything had been sent and before the
	// server answered: either all rows are written or none.
	Uncertain bool

	Err error
}

// Error says what failed, where, and why.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("pgbulk: " + e.Op)
	if e.Table != "" {
		b.WriteString(" " + e.Table)
	}
	var where []string
	switch {
	case e.Row >= 0 && e.Row == e.LastRow:
		where = append(where, fmt.Sprintf("row %d", e.Row))
	case e.Row >= 0:
		where = append(where, fmt.Sprintf("one of the rows %d to %d", e.Row, e.LastRow))
	}
	if e.FirstRow >= 0 {
		where = append(where, fmt.Sprintf("same key as row %d", e.FirstRow))
	}
	if e.Column != "" {
		where = append(where, "column "+e.Column)
	}
	if len(where) > 0 {
		b.WriteString(": " + strings.Join(where, ", "))
	}
	b.WriteString(": " + e.Err.Error())
	if e.Uncertain {
		b.WriteString(" (whether the rows are in is not known)")
	}
	if e.Closed {
		b.WriteString(" (connection closed)")
	}
	return b.String()
}

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// rowError is an error that is known to be about a row.
type rowError struct {
	row    int
	column string
	err    error
}

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

func newError(op, table string, err error) *Error {
	e := &Error{Op: op, Table: table, Row: -1, LastRow: -1, FirstRow: -1, Err: err}
	if r, ok := asType[*rowError](err); ok {
		e.Row, e.LastRow, e.Column, e.Err = r.row, r.row, r.column, r.err
	}
	return e
}

// number finds the line number in COPY's context, in any language: "COPY t, line 3, column c".
var number = regexp.MustCompile(`^, \D*(\d+)`)

// copyPosition reads row and column out of the context of an error in COPY ... FROM. PostgreSQL
// counts rows from 1, and names the column last.
func copyPosition(e *pgconn.PgError, table string, columns []string) (row int, column string, ok bool) {
	for line := range strings.Lines(e.Where) {
		rest, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "COPY "+table)
		if !found {
			continue
		}
		m := number.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 {
			continue
		}
		rest = rest[len(m[0]):]
		for _, c := range columns {
			if strings.HasSuffix(rest, " "+c) && len(c) > len(column) {
				column = c
			}
		}
		return n - 1, column, true
	}
	return 0, "", false
}

// parameter finds the number of the parameter that an error in Bind is about: in the context
// ("unnamed portal parameter $3"), or in the message ("incorrect binary data format in bind
// parameter 3"). The context may also quote a statement of a trigger's, with parameters of its own,
// or list all of ours ("unnamed portal with parameters: $1 = ...").
var (
	parameterInContext = regexp.MustCompile(`^[^"„“»«:：\n]*\$(\d+)`)
	parameterInMessage = regexp.MustCompile(`(\d+)$`)
)

// bindPosition returns the parameter, counted from 1, that an error in Bind is about.
func bindPosition(e *pgconn.PgError) (parameter int, ok bool) {
	m := parameterInContext.FindStringSubmatch(e.Where)
	if m == nil && e.Code == "22P03" { // invalid_binary_representation
		m = parameterInMessage.FindStringSubmatch(e.Message)
	}
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil && n > 0
}

// asType is errors.AsType, which Go 1.25 does not have.
func asType[T error](err error) (T, bool) {
	var target T
	ok := errors.As(err, &target)
	return target, ok
}
