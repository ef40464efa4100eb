package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// openEvents asks for streams of events. A stream is answered when its first event comes, and a
// failure of what follows is its failure. It ends after Target.Messages events, and for 0 when the
// server ends it.
func openEvents(_ context.Context, t *Target, p *Pool) error {
	return p.addExchanges(t, 1, func(w *Work, r *http.Response) (time.Time, error) { return follow(w, r, t.Messages) })
}

// follow reads a stream of events, as WHATWG's HTML standard has them (section 9.2), and measures
// each from the one before. A comment, such as one that keeps the connection alive, is no event.
func follow(w *Work, r *http.Response, most int) (first time.Time, err error) {
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return first, fmt.Errorf("the answer is no stream of events: its content type is %q", kind)
	}
	var last time.Time
	data := false
	lines := eventLines{in: bufio.NewReader(r.Body)}
	for events := 0; most == 0 || events < most; {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF) && most == 0 && events > 0:
			return first, nil
		case errors.Is(err, io.EOF):
			return first, fmt.Errorf("the stream ended after %d events", events)
		case err != nil:
			return first, err
		}
		if data = data || line == "data" || strings.HasPrefix(line, "data:"); line != "" || !data {
			continue
		}
		now := time.Now()
		if data, events = false, events+1; first.IsZero() {
			first = now
			w.message(false, 0)
		} else {
			w.message(false, now.Sub(last))
		}
		last = now
	}
	return first, nil
}

// eventLines reads lines that end with LF, CR or both.
type eventLines struct {
	in   *bufio.Reader
	line []byte
	cr   bool // the last line ended with CR: an LF that follows belongs to it
}

func (l *eventLines) next() (string, error) {
	for l.line = l.line[:0]; ; {
		b, err := l.in.ReadByte()
		if err != nil {
			return "", err
		}
		followed := l.cr && b == '\n'
		l.cr = b == '\r'
		switch {
		case followed:
		case b == '\n' || b == '\r':
			return string(l.line), nil
		default:
			l.line = append(l.line, b)
		}
	}
}

// openConnect sends unary calls of the Connect protocol, which are POST requests with JSON, and
// whose failures have statuses of HTTP: https://connectrpc.com/docs/protocol.
func openConnect(ctx context.Context, t *Target, p *Pool) error {
	for i := range t.Requests {
		r := &t.Requests[i]
		r.call(strings.TrimPrefix(t.RPC, "/"), "application/json")
		r.Header.Set("Connect-Protocol-Version", "1")
		if len(r.Body) == 0 {
			r.Body = []byte("{}")
		}
	}
	return openHTTP1(ctx, t, p)
}

// openWeb sends unary calls of gRPC-Web:
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md.
func openWeb(ctx context.Context, t *Target, p *Pool) error {
	method, err := findMethod(ctx, t)
	if err != nil {
		return fmt.Errorf("method %s: %w", t.RPC, err)
	}
	if method.IsStreamingClient() || method.IsStreamingServer() {
		return errors.New("gRPC-Web: only methods without streams are sent; --proto grpc has both")
	}
	for i := range t.Requests {
		r := &t.Requests[i]
		data, err := encodeMessage(method, r.Body)
		if err != nil {
			return err
		}
		r.call(fmt.Sprintf("%s/%s", method.Parent().FullName(), method.Name()), "application/grpc-web+proto")
		r.Header.Set("X-Grpc-Web", "1")
		r.Body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
	}
	return p.addExchanges(t, 1, func(_ *Work, r *http.Response) (now time.Time, err error) { return now, webReply(r) })
}

// call makes the request one of a method below its URL.
func (r *Request) call(method, kind string) {
	u := *r.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + method
	r.URL, r.Method = &u, http.MethodPost
	r.Header.Set("Content-Type", kind)
}

// webReply reads an answer to a unary call of gRPC-Web: a message, and the trailers.
func webReply(r *http.Response) error {
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/grpc-web") {
		return fmt.Errorf("the answer is not gRPC-Web: its content type is %q", kind)
	}
	header, messages := r.Header, 0
	for in := bufio.NewReader(r.Body); ; {
		var prefix [5]byte
		if _, err := io.ReadFull(in, prefix[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		frame := io.LimitReader(in, int64(binary.BigEndian.Uint32(prefix[1:])))
		if prefix[0]&0x80 == 0 {
			n, err := io.Copy(io.Discard, frame)
			if messages++; err != nil || n != int64(binary.BigEndian.Uint32(prefix[1:])) {
				return errors.Join(errors.New("the answer is cut"), err)
			}
			continue
		}
		trailers, err := textproto.NewReader(bufio.NewReader(io.MultiReader(frame, strings.NewReader("\r\n")))).ReadMIMEHeader()
		if err != nil {
			return fmt.Errorf("the trailers: %w", err)
		}
		header = http.Header(trailers)
	}
	switch code, err := strconv.Atoi(header.Get("Grpc-Status")); {
	case err != nil:
		return errors.New("the answer has no grpc-status")
	case code != 0:
		return fmt.Errorf("%v: %s", codes.Code(code), header.Get("Grpc-Message"))
	case messages != 1:
		return errors.New("the answer is not exactly one message")
	}
	return nil
}
