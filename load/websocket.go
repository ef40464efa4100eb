package load

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// A webSocket sends a message over a connection of its own and waits for the server's next one.
type webSocket struct {
	target  *Target
	take    func() Request
	conn    *websocket.Conn
	answers chan struct{} // has a message that came and that no request has taken
	ended   chan error
}

func openWebSocket(_ context.Context, t *Target, p *Pool) error {
	for i := range t.Requests {
		if len(t.Requests[i].Body) == 0 {
			t.Requests[i].Body = []byte("postage")
		}
	}
	take := inTurn(t.Requests)
	for range t.Conns {
		s := &webSocket{target: t, take: take}
		p.Lines = append(p.Lines, s)
		p.closers = append(p.closers, s.close)
	}
	return nil
}

// Connect makes the connection and starts its reader, which answers pings too.
func (s *webSocket) Connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	t := s.target
	tr := &http.Transport{DialContext: t.dialPlain, TLSClientConfig: t.tls("http/1.1")}
	defer tr.CloseIdleConnections()
	header := t.Request.Header.Clone()
	host := t.Request.host()
	header.Del("Host")
	var protocols []string
	for _, list := range header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(list, ",") {
			protocols = append(protocols, strings.TrimSpace(name))
		}
	}
	header.Del("Sec-WebSocket-Protocol") // the library writes it
	ctx, cancel := t.limited(ctx, "connection")
	defer cancel()
	u := *t.Request.URL
	u.User = nil // the header has it
	conn, response, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}, HTTPHeader: header, Host: host, Subprotocols: protocols})
	if err != nil {
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			return errors.New("the server does not open a WebSocket: status " + response.Status)
		}
		return err
	}
	conn.SetReadLimit(-1)
	s.conn, s.answers, s.ended = conn, make(chan struct{}, 1), make(chan error, 1)
	go read(conn, s.answers, s.ended)
	return nil
}

func read(conn *websocket.Conn, answers chan<- struct{}, ended chan<- error) {
	for {
		if _, _, err := conn.Read(context.Background()); err != nil {
			ended <- err
			return
		}
		select {
		case answers <- struct{}{}:
		default:
		}
	}
}

func (s *webSocket) Serve(ctx context.Context, w *Work) {
	serve(w, func() outcome { return outcome{err: s.send(ctx)} })
}

func (s *webSocket) send(ctx context.Context) (err error) {
	limited, cancel := s.target.limited(ctx, "answer")
	defer cancel()
	if s.conn != nil {
		select {
		case <-s.ended: // while nothing was under way
			_ = s.close()
		default:
		}
	}
	if err := s.Connect(limited); err != nil {
		return err
	}
	message := s.take().Body
	kind := websocket.MessageBinary
	if utf8.Valid(message) {
		kind = websocket.MessageText
	}
	select {
	case <-s.answers: // to no request
	default:
	}
	if err = s.conn.Write(limited, kind, message); err == nil {
		err = s.await(limited)
	} else if limited.Err() != nil {
		err = context.Cause(limited)
	}
	if err != nil {
		_ = s.close()
	}
	return err
}

func (s *webSocket) await(ctx context.Context) error {
	select {
	case <-s.answers:
		return nil
	case err := <-s.ended:
		if code := websocket.CloseStatus(err); code >= 0 {
			return errors.New("the server closed the WebSocket: " + code.String())
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the connection without waiting for the server.
func (s *webSocket) close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.CloseNow()
	s.conn = nil
	return err
}
