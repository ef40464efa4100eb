package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/pgbulk/pgtest/pgsink"
)

// sinkServer is the name under which serveSink is started.
const sinkServer = "sink"

// sink is a protocol sink in a process of its own.
type sink struct {
	server *proc.Child
	to     target
}

// sinkAddress is the sink's first line, when it is ready.
type sinkAddress struct {
	Dir  string // of its Unix socket
	Port int
}

// sinkAnswer is an answer of the sink.
type sinkAnswer struct {
	Capture string         // path of a file with what was received since "capture"
	CPU     *time.Duration // user and system time of the sink, nil if not known
}

// startSink starts a sink whose columns have these types, text where they are not named.
func startSink(ctx context.Context, types map[string]uint32, transport pgtest.Transport) (*sink, error) {
	var address sinkAddress
	p, err := proc.StartServer(ctx, sinkServer, types, &address)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	dsn := fmt.Sprintf("host=%s port=%d user=x dbname=x sslmode=disable", address.Dir, address.Port)
	if transport == pgtest.TCP {
		dsn = fmt.Sprintf("host=127.0.0.1 port=%d user=x dbname=x sslmode=disable", address.Port)
	}
	return &sink{server: p, to: target{dsn: dsn, table: "page", unix: transport == pgtest.Unix}}, nil
}

func openSink(w workload, transport pgtest.Transport) func(context.Context, lab.Env) (place, error) {
	return func(ctx context.Context, env lab.Env) (place, error) {
		s, err := startSink(ctx, map[string]uint32{"colD": pgtype.JSONBOID}, transport)
		if err != nil {
			return nil, err
		}
		s.to.types, s.to.rows = w.types("jsonb"), w.draw(env.Seed, 1)
		return s, nil
	}
}

func (s *sink) target() *target               { return &s.to }
func (s *sink) prepare(context.Context) error { return nil }
func (s *sink) close() error                  { return s.server.Close() }

func (s *sink) serverCPU(int) (float64, bool, error) {
	var a sinkAnswer
	if err := s.server.Ask("cpu", &a); err != nil || a.CPU == nil {
		return 0, false, err
	}
	return float64(*a.CPU), true, nil
}

const sinkChecks = "the bytes that the sink received hold every value of every row, column by column in the rows' order, and not much more"

// prove lets the sink keep what it receives, and looks for the values in it.
func (s *sink) prove(_ context.Context, write func() error) error {
	received, err := s.received(write)
	if err != nil {
		return err
	}
	return checkReceived(received, s.to.rows)
}

// received lets the sink keep what it receives while the rows are written.
func (s *sink) received(write func() error) (received []byte, err error) {
	var a sinkAnswer
	if err = s.server.Ask("capture", &a); err == nil {
		err = write()
	}
	if err == nil {
		err = s.server.Ask("captured", &a)
	}
	if err != nil {
		return nil, err
	}
	received, err = os.ReadFile(a.Capture)
	return received, errors.Join(err, os.Remove(a.Capture))
}

// checkReceived looks for the values of each column in the received messages, in the rows' order.
// They may have come row by row or column by column.
func checkReceived(received []byte, rows [][]any) error {
	bodies, err := bodiesOf(received)
	if err != nil {
		return err
	}
	for i, name := range columns {
		rest := bodies
		for n, row := range rows {
			value := textOf(row[i])
			at := bytes.Index(rest, []byte(value))
			if at < 0 {
				return fmt.Errorf("%s of row %d was not received in its place", name, n)
			}
			rest = rest[at+len(value):]
		}
	}
	// Around the values: their lengths and formats, or quotes, or placeholders. Around a row of a
	// batch: Bind, Describe and Execute.
	const perValue, perRow = 16, 64
	if most := bytesOf(rows) + len(rows)*(perValue*len(columns)+perRow) + 64<<10; len(received) > most {
		return fmt.Errorf("%d bytes were received, more than %d", len(received), most)
	}
	return nil
}

// bodiesOf joins the bodies of messages, in their place, because COPY's stream of rows may be cut
// into messages anywhere.
func bodiesOf(messages []byte) (bodies []byte, err error) {
	for bodies = messages[:0]; len(messages) > 0; {
		if len(messages) < 5 {
			return nil, errors.New("what was received ends in the middle of a message")
		}
		n := 1 + int(binary.BigEndian.Uint32(messages[1:]))
		if n < 5 || n > len(messages) {
			return nil, fmt.Errorf("a message of type %q and %d bytes was received, and only %d bytes came", messages[0], n, len(messages))
		}
		bodies = append(bodies, messages[5:n]...)
		messages = messages[n:]
	}
	return bodies, nil
}

// serveSink is the sink, in a process of its own, a [proc.Server].
func serveSink(stdin io.Reader, stdout io.Writer) (err error) {
	in := bufio.NewReader(stdin)
	s := &pgsink.Server{}
	if err := proc.ReadConfig(in, &s.Types); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "postage-sink-")
	if err != nil {
		return fmt.Errorf("store: sink: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("store: sink: %w", err)
	}
	port := tcp.Addr().(*net.TCPAddr).Port
	unix, err := net.Listen("unix", filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", port)))
	if err != nil {
		return errors.Join(fmt.Errorf("store: sink: %w", err), tcp.Close())
	}
	kept := &capture{path: filepath.Join(dir, "captured")}
	// The process ends with its connections, so nothing waits for these goroutines.
	for _, l := range []net.Listener{tcp, unix} {
		defer l.Close()
		go s.Serve(tapped{l, kept})
	}
	return proc.Serve(in, stdout, sinkAddress{dir, port}, func(question json.RawMessage) (any, error) {
		var a sinkAnswer
		var err error
		switch string(question) {
		case `"capture"`:
			err = kept.start()
		case `"captured"`:
			a.Capture, err = kept.path, kept.stop()
		}
		if cpu, known := proc.CPU(); known {
			a.CPU = &cpu
		}
		return a, err
	})
}

// capture keeps what connections receive while it is on, in a file.
type capture struct {
	path string
	mu   sync.Mutex
	file *os.File // nil while it is off
	err  error    // of the first write that failed
}

func (c *capture) start() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file, c.err = os.Create(c.path)
	return c.err
}

func (c *capture) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := errors.Join(c.err, c.file.Close())
	c.file = nil
	return err
}

func (c *capture) see(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && c.err == nil {
		_, c.err = c.file.Write(p)
	}
}

// tapped is a listener whose connections pass what they receive to the capture.
type tapped struct {
	net.Listener
	to *capture
}

func (t tapped) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tappedConn{c, t.to}, nil
}

type tappedConn struct {
	net.Conn
	to *capture
}

func (t tappedConn) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.to.see(p[:n])
	return n, err
}
