package pgbulk

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// CancelGrace is how long a call whose context has ended waits for the server to answer the cancel
// request, so that the connection stays usable. After that the connection is closed.
const CancelGrace = 2 * time.Second

// stream is one exchange with the server: all that is written up to one Sync or in one simple
// Query, and all that is answered up to the ReadyForQuery message.
//
// The caller's goroutine writes. Then it reads, through pgconn, which keeps track of the
// transaction's status and handles notices, notifications and parameters. If a write waits for
// longer than readAfter, or the exchange takes longer, a second goroutine reads from then on. It
// prevents the deadlock of two sides that both wait for the other to read, and sees early that the
// server has refused a row. It is not started at once: while any goroutine waits for a socket or a
// timer, the runtime keeps a thread that wakes up each time the server reads something, which can
// take a fifth of a process's CPU time.
type stream struct {
	wire     wire
	answer   answer
	copies   bool             // a COPY ... FROM STDIN is meant to be part of it; set before anything is sent
	complete bool             // all that the exchange consists of has been written
	written  chan struct{}    // closed when no more will be
	lock     *pgconn.Pipeline // keeps others from the connection until reading begins; or nil
	gaveUp   error            // why the exchange was cut short, if it was us
	once     sync.Once        // begun
	done     chan struct{}    // closed when all is read

	unwatch   func() bool   // of the context whose end cancels the exchange
	cancelled chan struct{} // closed when the cancel request is done with
}

// answer is what the server said, to be read after done is closed.
type answer struct {
	commands int   // CommandComplete messages
	affected int64 // rows that the commands say they affected, all together
	copied   int64 // rows that COPY says it took; -1 as long as it has not ended well
	tag      pgconn.CommandTag
	ready    bool       // ReadyForQuery has come
	parsed   bool       // a Parse was answered
	bound    bool       // a Bind was answered: what has an error after that may have run
	results  *resultSet // what is described and returned; nil if it does not matter
	returner *returner  // of rows, to the caller; nil if they are not asked for
	pgErr    *pgconn.PgError
	readErr  error
}

// resultSet is what the server describes and returns for a query of our own.
type resultSet struct {
	params []uint32
	fields []uint32
	names  []string // of the fields
	rows   [][][]byte
}

// open begins an exchange, which the end of ctx ends.
func open(ctx context.Context, pc *pgconn.PgConn, b *buffers) *stream {
	s := &stream{wire: wire{pc: pc, nc: pc.Conn(), buf: b.wire[:bufferSize], out: &b.out, reading: reading{since: time.Now()}},
		answer: answer{copied: -1}, written: make(chan struct{}), done: make(chan struct{})}
	s.wire.out.start(s.wire.nc)
	s.wire.reading.read = func() { s.once.Do(s.receive) }
	s.cancelled = make(chan struct{})
	s.unwatch = context.AfterFunc(ctx, s.cancel)
	return s
}

// query runs statements of our own by themselves, as one simple Query.
func (b *buffers) query(ctx context.Context, pc *pgconn.PgConn, sql string) (*stream, error) {
	s := open(ctx, pc, b)
	s.answer.results = new(resultSet)
	s.wire.message('Q', sql)
	s.wire.flush()
	s.complete = s.wire.err == nil
	return s, s.close(ctx)
}

// exec is query for statements whose results do not matter.
func (b *buffers) exec(ctx context.Context, pc *pgconn.PgConn, sql string) error {
	_, err := b.query(ctx, pc, sql)
	return err
}

// ask runs a query of our own, with its parameters and what it returns as text.
func (b *buffers) ask(ctx context.Context, pc *pgconn.PgConn, sql string, params ...string) ([][][]byte, error) {
	s := open(ctx, pc, b)
	s.answer.results = new(resultSet)
	s.question(sql, params...)
	s.sync()
	return s.answer.results.rows, s.close(ctx)
}

// question sends a query whose parameters are text.
func (s *stream) question(sql string, params ...string) {
	s.wire.parse("", sql, nil, 0)
	size := 0
	for _, p := range params {
		size += 4 + len(p)
	}
	s.wire.bind("", []byte{textFormat}, len(params), size)
	for _, p := range params {
		s.wire.int32(len(p))
		s.wire.string(p)
	}
	s.wire.execute()
}

// cancel runs when the context ends: it asks the server to stop, and gives it a time to do so.
func (s *stream) cancel() {
	defer close(s.cancelled)
	s.wire.stop.Store(true)
	deadline := time.Now().Add(CancelGrace)
	s.wire.nc.SetDeadline(deadline)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_ = s.wire.pc.CancelRequest(ctx) // if it fails, the deadline ends the exchange
}

// receive reads to the end of the exchange.
func (s *stream) receive() {
	defer close(s.done)
	if s.lock != nil {
		s.lock.Close() // from here on it is busy with receiving
	}
	for !s.answer.ready {
		msg, err := s.wire.pc.ReceiveMessage(context.Background())
		if err != nil {
			s.wire.stop.Store(true)
			// A FATAL error comes as the error itself, after which the connection is gone.
			if pgErr, ok := asType[*pgconn.PgError](err); ok && s.answer.pgErr == nil {
				s.answer.pgErr = pgErr
			} else {
				s.answer.readErr = err
			}
			// pgconn may send Terminate on a connection that it found broken. It must not do so in
			// the middle of one of our messages.
			s.wire.nc.Close()
			return
		}
		if _, ok := msg.(*pgproto3.CopyInResponse); ok && !s.copies {
			<-s.written
			s.refuseCopy()
		}
		if !s.answer.take(msg) {
			s.wire.stop.Store(true)
		}
	}
}

// take notes what a message says, and reports whether to go on.
func (a *answer) take(msg pgproto3.BackendMessage) bool {
	switch msg := msg.(type) {
	case *pgproto3.ErrorResponse:
		if a.pgErr == nil {
			a.pgErr = pgconn.ErrorResponseToPgError(msg)
		}
		return false
	case *pgproto3.CommandComplete:
		a.commands++
		a.tag = pgconn.NewCommandTag(string(msg.CommandTag))
		if strings.HasPrefix(a.tag.String(), "COPY ") {
			a.copied = a.tag.RowsAffected()
		}
		if a.tag.Insert() || a.tag.Update() {
			a.affected += a.tag.RowsAffected()
		}
	case *pgproto3.ParseComplete:
		a.parsed = true
	case *pgproto3.BindComplete:
		a.bound = true
	case *pgproto3.ReadyForQuery:
		a.ready = true
	case *pgproto3.RowDescription:
		if a.returner != nil {
			a.returner.fields, a.returner.plans = slices.Clone(msg.Fields), nil
		}
	case *pgproto3.DataRow:
		if a.returner != nil && !a.returner.take(msg.Values) {
			return false
		}
	}
	if a.results != nil {
		a.results.take(msg)
	}
	return true
}

func (a *resultSet) take(msg pgproto3.BackendMessage) {
	switch msg := msg.(type) {
	case *pgproto3.ParameterDescription:
		a.params = append(a.params, msg.ParameterOIDs...)
	case *pgproto3.RowDescription:
		for _, f := range msg.Fields {
			a.fields, a.names = append(a.fields, f.DataTypeOID), append(a.names, string(f.Name))
		}
	case *pgproto3.DataRow:
		row := make([][]byte, len(msg.Values))
		for i, v := range msg.Values {
			row[i] = append([]byte(nil), v...)
		}
		a.rows = append(a.rows, row)
	}
}

// refuseCopy ends a COPY ... FROM STDIN that nobody has data for. In it the server has ignored the
// Sync that was sent (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY).
func (s *stream) refuseCopy() {
	const why = "COPY ... FROM STDIN is not for Exec, use Insert"
	m := binary.BigEndian.AppendUint32([]byte{'f'}, uint32(4+len(why)+1))
	s.wire.nc.Write(append(append(m, why...), 0, 'S', 0, 0, 0, 4)) // an error shows when reading
}

// sync ends an exchange of the extended protocol.
func (s *stream) sync() {
	s.wire.byte('S')
	s.wire.int32(4)
	s.wire.flush()
	s.complete = s.wire.err == nil
}

// endCopy ends COPY data and the exchange: nothing is to be written after a simple Query's copy.
func (s *stream) endCopy() {
	s.wire.int16(-1)
	s.wire.flush()
	if s.wire.stop.Load() {
		s.wire.failCopy()
		return
	}
	s.wire.copying = false
	s.wire.drop(0)
	s.wire.byte('c')
	s.wire.int32(4)
	s.wire.flush()
	s.complete = s.wire.err == nil
}

// giveUp abandons an exchange, so that the server undoes it. why is nil if the stream itself knows:
// the server reported an error, or the context ended.
func (s *stream) giveUp(why error) {
	s.gaveUp = why
	if s.wire.copying {
		s.wire.failCopy()
		return
	}
	// A portal that does not exist is an error (invalid_cursor_name), after which the server skips
	// everything up to the Sync.
	s.wire.byte('E')
	s.wire.int32(4 + len(givenUp) + 1 + 4)
	s.wire.string(givenUp)
	s.wire.byte(0)
	s.wire.int32(0)
	s.sync()
	s.complete = false
}

const invalidCursorName = "34000"

// close waits for the end of the exchange, and returns how it went: nil if the server has confirmed
// all of it. Afterwards the connection is usable, or closed.
func (s *stream) close(ctx context.Context) error {
	close(s.written)
	if s.answer.returner != nil {
		go s.wire.reading.read() // what the caller does with rows may end the goroutine
	} else {
		s.wire.reading.read()
	}
	<-s.done
	if !s.unwatch() {
		<-s.cancelled
		s.settleCancel()
	} else if s.wire.err != nil {
		s.wire.nc.SetReadDeadline(time.Time{})
	}
	if !s.answer.ready || s.wire.err != nil { // after a failed write the server may be left in the middle of a message
		s.answer.ready = false
		s.wire.nc.Close() // and pgconn is to know it
		late, cancel := context.WithTimeout(context.Background(), CancelGrace)
		defer cancel()
		s.wire.pc.Close(late)
	}
	switch {
	case s.refused():
		return s.answer.returner.err
	case s.gaveUp != nil:
		return s.gaveUp
	case s.answer.ready && s.answer.pgErr == nil && s.complete:
		return nil
	case ctx.Err() != nil:
		return s.because(context.Cause(ctx))
	default:
		return s.because(nil)
	}
}

// settleCancel has a cancel request that came too late hit a statement of ours, and not the next.
func (s *stream) settleCancel() {
	if !s.answer.ready {
		return
	}
	s.wire.nc.SetDeadline(time.Now().Add(CancelGrace))
	err := s.wire.pc.Exec(context.Background(), "-- pgbulk").Close() // with no ctx: its deadline is set here
	if _, cancelled := asType[*pgconn.PgError](err); err != nil && !cancelled {
		s.answer.ready = false
	}
	s.wire.nc.SetDeadline(time.Time{})
}

// because joins the reasons for a failure, the most useful first. An error about giveUp's portal,
// which we caused, is none if there is a cause.
func (s *stream) because(cause error) error {
	reason := cmp.Or(s.answer.readErr, s.wire.err)
	if s.answer.pgErr != nil && (s.answer.pgErr.Code != invalidCursorName || cause == nil) {
		reason = s.answer.pgErr
	} else if s.answer.pgErr != nil {
		reason = nil
	}
	if cause != nil && reason != nil {
		return fmt.Errorf("%w (%w)", cause, reason)
	}
	return cmp.Or(cause, reason, errors.New("the exchange was not completed"))
}

// uncertain says that the server may have committed although there is an error: everything was
// sent, and no answer to it came. Before PostgreSQL 9.6 an error's severity is translated.
func (s *stream) uncertain() bool {
	fatal := s.answer.pgErr != nil && s.answer.pgErr.SeverityUnlocalized != "ERROR" && s.answer.pgErr.Severity != "ERROR"
	return s.complete && !s.answer.ready && (s.answer.pgErr == nil || fatal)
}
