package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// openEvents asks for streams of events. A request is answered when its first event comes; it fails
// if the stream does later. The stream ends after Target.Messages events, or with 0 when the server
// ends it.
func openEvents(_ context.Context, t *Target, p *Pool) error {
	return p.addExchanges(t, func(w *Work, r *http.Response) (time.Time, error) { return follow(w, r, t.Messages) })
}

// follow reads a stream of events (WHATWG's HTML standard, section 9.2), and measures each from the
// one before. A comment, such as one that keeps the connection alive, is no event.
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
