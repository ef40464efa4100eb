package pushtest

import (
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

// An Exchange is a request that a [Fault] deals with.
type Exchange struct {
	Writer  http.ResponseWriter
	Request *http.Request
	Accept  func(http.ResponseWriter) // answers as the service would without the fault
	Closing <-chan struct{}           // closed when the server is
}

// A Fault answers one request in its own way. Write more of them as needed.
type Fault func(*Exchange)

// OK is no fault: it lets one request pass between two faults.
func OK() Fault { return func(x *Exchange) { x.Accept(x.Writer) } }

// Status answers with a status, a short reason, and header fields given as
// names and values in turn.
func Status(code int, header ...string) Fault {
	return func(x *Exchange) {
		for i := 0; i+1 < len(header); i += 2 {
			x.Writer.Header().Set(header[i], header[i+1])
		}
		Answer(code, "pushtest says "+http.StatusText(code))(x)
	}
}

// Answer answers with a status and a body.
func Answer(code int, body string) Fault {
	return func(x *Exchange) {
		x.Writer.WriteHeader(code)
		io.WriteString(x.Writer, body) //nolint:errcheck // the client may be gone
	}
}

// Slow waits, then answers as usual.
func Slow(d time.Duration) Fault {
	return func(x *Exchange) {
		select {
		case <-time.After(d):
			x.Accept(x.Writer)
			return
		case <-x.Request.Context().Done():
		case <-x.Closing:
		}
		abort(x.Writer) // to return would be to answer 200
	}
}

// Stall reads the request and never answers.
func Stall() Fault {
	return func(x *Exchange) {
		io.Copy(io.Discard, x.Request.Body) //nolint:errcheck // the client may be gone
		Slow(math.MaxInt64)(x)
	}
}

// Reset reads the request and breaks the connection (HTTP/1.1) or the stream
// (HTTP/2) without an answer.
func Reset() Fault {
	return func(x *Exchange) {
		io.Copy(io.Discard, x.Request.Body) //nolint:errcheck // the client may be gone
		abort(x.Writer)
	}
}

// AcceptThen accepts the message and then does what fault does: the sender cannot know whether it
// was accepted. A gateway does that when its own connection to the service breaks (502, 504).
func AcceptThen(fault Fault) Fault {
	return func(x *Exchange) {
		x.Accept(&blindWriter{header: make(http.Header)})
		fault(x)
	}
}

// abort ends the exchange without an answer: a TCP reset where the connection
// can be hijacked, and what http.ErrAbortHandler does otherwise.
func abort(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if inner, ok := conn.(interface{ NetConn() net.Conn }); ok { // a *tls.Conn
			if tcp, ok := inner.NetConn().(*net.TCPConn); ok {
				tcp.SetLinger(0) //nolint:errcheck // then it is closed without a reset
				tcp.Close()
			}
		}
		conn.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

// A blindWriter is a ResponseWriter whose output is discarded.
type blindWriter struct{ header http.Header }

func (w *blindWriter) Header() http.Header         { return w.header }
func (w *blindWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *blindWriter) WriteHeader(int)             {}
