package pgbulk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// bufferSize is the size of the one buffer that all but large values is written through, in bytes.
const bufferSize = 64 << 10

// CancelGrace is how long a call whose context has ended waits for the server to answer the cancel
// request, so that the connection stays usable. After that the connection is closed.
const CancelGrace = 2 * time.Second

// stream is one exchange with the server: all that is written up to one Sync or in one simple
// Query, and all that is answered up to the ReadyForQuery message.
//
// The caller's goroutine writes, straight to the net.Conn below pgconn. Then it reads, through
// pgconn, which keeps track of the transaction's status and handles notices, notifications and
// parameters. If a write waits for longer than readAfter, or the exchange takes longer, a second
// goroutine reads from then on. It prevents the deadlock of two sides that both wait for the other
// to read, and sees early that the server has refused a row. It is not started at once: while any
// goroutine waits for a socket or a timer, the runtime keeps a thread that wakes up each time the
// server reads something, which can take a fifth of a process's CPU time.
type stream struct {
	pc  *pgconn.PgConn
	nc  net.Conn
	ctx context.Context

	buf      []byte // bufferSize long
	n        int    // bytes of buf in use
	out      *outbox
	copying  bool             // what is written is wrapped in CopyData messages
	copies   bool             // a COPY ... FROM STDIN is meant to be part of it; set before anything is sent
	complete bool             // all that the exchange consists of has been written
	written  chan struct{}    // closed when no more will be
	hold     *pgconn.Pipeline // keeps others from the connection until reading begins; or nil
	err      error            // of writing
	gaveUp   error            // why the exchange was cut short, if it was us

	unwatch   func() bool
	cancelled chan struct{} // closed when the cancel request is done with

	begun   time.Time
	long    bool        // it takes so long that reading has begun
	reading sync.Once   // begun
	reader  *time.Timer // begins it; nil as long as no write had to wait
	waits   func()

	// Set by the goroutine that reads, to be read after done is closed; only stop is read before.
	done     chan struct{}
	stop     atomic.Bool // there was an error: nothing that is written now will be of use
	commands int         // CommandComplete messages
	affected int64       // rows that the commands say they affected, all together
	copied   int64       // rows that COPY says it took; -1 as long as it has not ended well
	tag      pgconn.CommandTag
	ready    bool      // ReadyForQuery has come
	parsed   bool      // a Parse was answered
	bound    bool      // a Bind was answered: what has an error after that may have run
	returner *returner // of rows, to the caller; nil if they are not asked for
	collect  bool      // what is described and returned, into these:
	params   []uint32
	fields   []uint32
	names    []string // of the fields
	rows     [][][]byte
	pgErr    *pgconn.PgError
	readErr  error
}

// open begins an exchange.
func open(ctx context.Context, pc *pgconn.PgConn, b *buffers) *stream {
	s := &stream{pc: pc, nc: pc.Conn(), ctx: ctx, buf: b.wire[:bufferSize], out: &b.out,
		copied: -1, written: make(chan struct{}), done: make(chan struct{}), cancelled: make(chan struct{})}
	s.out.start(s.nc)
	s.begun, s.waits = time.Now(), s.readSoon
	s.unwatch = context.AfterFunc(ctx, s.cancel)
	return s
}

// readAfter is how long an exchange runs before the server's messages are read while it is still
// being written.
const readAfter = 50 * time.Millisecond

// readSoon starts reading the server's messages if the current write waits for long.
func (s *stream) readSoon() {
	if s.reader == nil {
		s.reader = time.AfterFunc(readAfter, s.readNow)
	} else {
		s.reader.Reset(readAfter)
	}
}

func (s *stream) readNow() { s.reading.Do(s.read) }

// read reads to the end of the exchange.
func (s *stream) read() {
	defer close(s.done)
	if s.hold != nil {
		s.hold.Close() // from here on it is busy with receiving
	}
	for {
		msg, err := s.pc.ReceiveMessage(context.Background())
		if err != nil {
			s.stop.Store(true)
			// A FATAL error comes as the error itself, after which the connection is gone.
			if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && s.pgErr == nil {
				s.pgErr = pgErr
			} else {
				s.readErr = err
			}
			// pgconn may send Terminate on a connection that it found broken. It must not do so in
			// the middle of one of our messages.
			s.nc.Close()
			return
		}
		switch msg := msg.(type) {
		case *pgproto3.ErrorResponse:
			if s.pgErr == nil {
				s.pgErr = pgconn.ErrorResponseToPgError(msg)
			}
			s.stop.Store(true)
		case *pgproto3.CommandComplete:
			s.commands++
			s.tag = pgconn.NewCommandTag(string(msg.CommandTag))
			if strings.HasPrefix(s.tag.String(), "COPY ") {
				s.copied = s.tag.RowsAffected()
			}
			if s.tag.Insert() || s.tag.Update() || s.tag.Delete() {
				s.affected += s.tag.RowsAffected()
			}
		case *pgproto3.CopyInResponse:
			if !s.copies {
				<-s.written
				s.refuseCopy()
			}
		case *pgproto3.ParseComplete:
			s.parsed = true
		case *pgproto3.BindComplete:
			s.bound = true
		case *pgproto3.ParameterDescription:
			if s.collect {
				s.params = slices.Clone(msg.ParameterOIDs)
			}
		case *pgproto3.RowDescription:
			if s.returner != nil {
				s.returner.describe(msg.Fields)
			}
			for i := 0; s.collect && i < len(msg.Fields); i++ {
				s.fields = append(s.fields, msg.Fields[i].DataTypeOID)
				s.names = append(s.names, string(msg.Fields[i].Name))
			}
		case *pgproto3.DataRow:
			if s.returner != nil && !s.returner.take(msg.Values) {
				s.stop.Store(true)
			}
			if s.collect {
				row := make([][]byte, len(msg.Values))
				for i, v := range msg.Values {
					row[i] = slices.Clone(v)
				}
				s.rows = append(s.rows, row)
			}
		case *pgproto3.ReadyForQuery:
			s.ready = true
			return
		}
	}
}

// cancel runs when the context ends: it asks the server to stop, and gives it a time to do so.
func (s *stream) cancel() {
	defer close(s.cancelled)
	s.stop.Store(true)
	deadline := time.Now().Add(CancelGrace)
	s.nc.SetDeadline(deadline)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	if err := s.pc.CancelRequest(ctx); err != nil {
		return // then the deadline ends it
	}
}

// flush writes out the buffer, and what is referred to between its bytes.
func (s *stream) flush() {
	from := 0
	if s.copying {
		from = copyHeader
	}
	if s.n > from || s.out.held > 0 {
		if s.copying {
			s.buf[0] = 'd'
			binary.BigEndian.PutUint32(s.buf[1:], uint32(s.n-1+s.out.held))
			if s.stop.Load() {
				// Between two CopyData messages is a place to stop. Nothing in the buffer is needed
				// any more.
				s.drop(from)
				return
			}
		}
		s.write()
	}
	s.drop(from)
}

// copyHeader is what a CopyData message begins with, and is kept free at the front of the buffer:
// its type and length.
const copyHeader = 5

// drop empties the buffer, all but its first from bytes.
func (s *stream) drop(from int) {
	s.n = from
	s.out.empty()
}

// write writes what flush has made ready.
func (s *stream) write() {
	if s.err != nil {
		return
	}
	if !s.long && (s.returner != nil || time.Since(s.begun) > readAfter) {
		s.long = true
		go s.readNow()
	}
	if s.out.held > 0 {
		s.enlarge()
	}
	if s.out.vectored {
		s.out.add(s.buf[s.out.mark:s.n])
		s.err = s.out.write(s.nc, s.out.parts, s.waits)
	} else {
		s.readSoon()
		_, s.err = s.nc.Write(s.buf[:s.n])
	}
	if s.reader != nil {
		s.reader.Stop()
	}
	if s.err != nil {
		s.stop.Store(true)
		// The server may have said why before it closed the connection: leave a moment to read
		// that.
		s.nc.SetReadDeadline(time.Now().Add(CancelGrace))
	}
}

// enlarge gives the connection's socket room for what is held twice over, once.
func (s *stream) enlarge() {
	const key = "postage/pgbulk socket"
	if data := s.pc.CustomData(); data[key] == nil {
		data[key] = true
		enlarge(s.nc, 2*maxHeld)
	}
}

// room makes sure that there are k bytes free in the buffer and returns them. k is small.
func (s *stream) room(k int) []byte {
	s.reserve(k)
	p := s.buf[s.n : s.n+k]
	s.n += k
	return p
}

// free is what is free of the buffer, to append to, and 64 bytes at least.
func (s *stream) free() []byte {
	s.reserve(64)
	return s.buf[s.n:s.n]
}

// made accepts what was appended to the buffer. It reports false if there was not enough room for
// it.
func (s *stream) made(out []byte) bool {
	if len(out) > len(s.buf)-s.n {
		return false
	}
	s.n += len(out)
	return true
}

// reserve has the next k bytes go out together.
func (s *stream) reserve(k int) {
	if len(s.buf)-s.n < k {
		s.flush()
	}
}

func (s *stream) byte(b byte)    { s.room(1)[0] = b }
func (s *stream) int16(v int)    { binary.BigEndian.PutUint16(s.room(2), uint16(v)) }
func (s *stream) int32(v int)    { binary.BigEndian.PutUint32(s.room(4), uint32(v)) }
func (s *stream) bytes(p []byte) { s.string(alias(p)) }

// string copies p to the buffer, as often as it fills up.
func (s *stream) string(p string) {
	for {
		k := copy(s.buf[s.n:], p)
		s.n += k
		if p = p[k:]; p == "" {
			return
		}
		s.flush()
	}
}

// refer is string for a value that does not change before the next flush. A large one is not
// copied.
func (s *stream) refer(p string) {
	if len(p) < minReferred || !s.out.vectored {
		s.string(p)
		return
	}
	for p != "" {
		k := min(len(p), maxHeld-s.out.held)
		s.out.add(s.buf[s.out.mark:s.n])
		s.out.mark = s.n
		s.out.refer(p[:k])
		p = p[k:]
		if s.out.full() {
			s.flush()
		}
	}
}

// cstring writes a string as the protocol has it in names and statements. It must have no zero
// byte.
func (s *stream) cstring(p string) {
	s.string(p)
	s.byte(0)
}

// query sends a simple Query message.
func (s *stream) query(sql string) {
	s.byte('Q')
	s.int32(4 + len(sql) + 1)
	s.cstring(sql)
}

// parse sends a Parse message for the unnamed statement with n parameters, whose types recur.
func (s *stream) parse(sql []byte, types []uint32, n int) { s.parseAs("", sql, types, n) }

// parseAs is parse for a statement with a name. Without types the server finds them out.
func (s *stream) parseAs(name string, sql []byte, types []uint32, n int) {
	s.byte('P')
	s.int32(4 + len(name) + 1 + len(sql) + 1 + 2 + 4*n)
	s.cstring(name)
	s.bytes(sql)
	s.byte(0)
	s.int16(n)
	for i := range n {
		s.int32(int(types[i%len(types)]))
	}
}

// about sends a Describe or Close message about a statement.
func (s *stream) about(kind byte, statement string) {
	s.byte(kind)
	s.int32(4 + 1 + len(statement) + 1)
	s.byte('S')
	s.cstring(statement)
}

// bind sends the beginning of a Bind message, up to its parameters, of which there are n and which
// have size bytes. formats are the format codes, which recur; if they are all the same the message
// says it once.
func (s *stream) bind(statement string, formats []byte, n, size int) {
	same := uniform(formats)
	codes := n
	switch {
	case same && (n == 0 || formats[0] == 0):
		codes = 0 // no code at all: all text
	case same:
		codes = 1
	}
	s.byte('B')
	s.int32(bindOverhead + len(statement) + 2*codes + size)
	s.byte(0)
	s.cstring(statement)
	s.int16(codes)
	for i := range codes {
		s.int16(int(formats[i%len(formats)]))
	}
	s.int16(n)
}

// bindOverhead is what a Bind message has beside its statement's name, formats and parameters: its
// length, two zero bytes, and the numbers of formats, of parameters and of result formats.
const bindOverhead = 4 + 2 + 2 + 2 + 2

// execute ends the Bind message, whose results are to be in text if there are any, and sends an
// Execute message.
func (s *stream) execute() {
	s.int16(0)
	s.executeMessage()
}

func (s *stream) executeMessage() { copy(s.room(10), "E\x00\x00\x00\x09\x00\x00\x00\x00\x00") }

// command sends a statement without parameters.
func (s *stream) command(sql string) {
	s.parse([]byte(sql), nil, 0)
	s.bind("", nil, 0, 0)
	s.execute()
}

// startCopy begins COPY data: from here on everything is wrapped in CopyData messages.
func (s *stream) startCopy() {
	s.flush()
	s.copying, s.n, s.out.mark = true, copyHeader, 0
	s.string("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
}

// endCopy ends COPY data and the exchange: nothing is to be written after a simple Query's copy.
func (s *stream) endCopy() {
	s.int16(-1)
	s.flush()
	s.copying = false
	s.drop(0)
	if s.stop.Load() {
		s.failCopy()
		return
	}
	s.byte('c')
	s.int32(4)
	s.flush()
	s.complete = s.err == nil
}

// failCopy has the server undo the copy. A server that is no longer copying ignores the message.
func (s *stream) failCopy() {
	const why = "given up by the client"
	s.copying = false
	s.drop(0)
	s.byte('f')
	s.int32(4 + len(why) + 1)
	s.cstring(why)
	s.flush()
}

// refuseCopy ends a COPY ... FROM STDIN that nobody has data for. In it the server has ignored the
// Sync that was sent (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY).
func (s *stream) refuseCopy() {
	const why = "COPY ... FROM STDIN is not for Exec, use Insert"
	m := binary.BigEndian.AppendUint32([]byte{'f'}, uint32(4+len(why)+1))
	s.nc.Write(append(append(m, why...), 0, 'S', 0, 0, 0, 4)) // an error shows when reading
}

// sync ends an exchange of the extended protocol.
func (s *stream) sync() {
	s.byte('S')
	s.int32(4)
	s.flush()
	s.complete = s.err == nil
}

// giveUp abandons an exchange, so that the server undoes it. why is nil if the stream itself knows:
// the server reported an error, or the context ended.
func (s *stream) giveUp(why error) {
	s.gaveUp = why
	if s.copying {
		s.failCopy()
		return
	}
	// A portal that does not exist is an error (invalid_cursor_name), after which the server skips
	// everything up to the Sync.
	const portal = "given up by the client"
	s.byte('E')
	s.int32(4 + len(portal) + 1 + 4)
	s.cstring(portal)
	s.int32(0)
	s.sync()
	s.complete = false
}

const invalidCursorName = "34000"

// close waits for the end of the exchange, and returns how it went: nil if the server has confirmed
// all of it. Afterwards the connection is usable, or closed.
func (s *stream) close() error {
	select {
	case <-s.written:
	default:
		close(s.written)
	}
	if s.returner != nil {
		go s.readNow() // what the caller does with rows may end the goroutine
	} else {
		s.readNow()
	}
	<-s.done
	if !s.unwatch() {
		<-s.cancelled
		if s.ready {
			s.nc.SetDeadline(time.Now().Add(CancelGrace))
			// A cancel request that came too late must not hit the next statement: let it hit this
			// one.
			err := s.pc.Exec(context.Background(), "-- pgbulk").Close() // with no ctx: its deadline is set here
			if _, cancelled := errors.AsType[*pgconn.PgError](err); err != nil && !cancelled {
				s.ready = false
			}
			s.nc.SetDeadline(time.Time{})
		}
	} else if s.err != nil {
		s.nc.SetReadDeadline(time.Time{})
	}
	if !s.ready || s.err != nil { // after a failed write the server may be left in the middle of a message
		s.ready = false
		s.shut()
	}
	switch {
	case s.refused():
		return s.returner.err
	case s.gaveUp != nil:
		return s.gaveUp
	case s.ready && s.pgErr == nil && s.complete:
		return nil
	case s.ctx.Err() != nil:
		return s.because(context.Cause(s.ctx))
	default:
		return s.because(nil)
	}
}

// because joins the reasons for a failure, the most useful first.
func (s *stream) because(cause error) error {
	var reason error
	switch {
	case s.pgErr != nil && s.pgErr.Code == invalidCursorName && cause != nil:
		// That is the error about giveUp's portal, which we caused.
	case s.pgErr != nil:
		reason = s.pgErr
	case s.readErr != nil:
		reason = s.readErr
	case s.err != nil:
		reason = s.err
	}
	switch {
	case cause == nil && reason == nil:
		return errors.New("the exchange was not completed")
	case cause == nil:
		return reason
	case reason == nil:
		return cause
	}
	return fmt.Errorf("%w (%w)", cause, reason)
}

// shut closes the connection and has pgconn know it.
func (s *stream) shut() {
	s.nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), CancelGrace)
	defer cancel()
	s.pc.Close(ctx)
}

// uncertain says that the server may have committed although there is an error: everything was
// sent, and no answer to it came.
func (s *stream) uncertain() bool {
	return s.complete && !s.ready && (s.pgErr == nil || severity(s.pgErr) != "ERROR")
}

// severity is an error's severity, in English whatever the server's language. Before PostgreSQL 9.6
// there is only the translation.
func severity(e *pgconn.PgError) string {
	if e.SeverityUnlocalized != "" {
		return e.SeverityUnlocalized
	}
	return e.Severity
}

func uniform(formats []byte) bool {
	for _, f := range formats {
		if f != formats[0] {
			return false
		}
	}
	return true
}
