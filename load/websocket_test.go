package load

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// echo is a WebSocket server that sends back what the test tells it to, and pings.
func echo(t *testing.T, secure bool, answer func(n int64, conn *websocket.Conn, message []byte) []byte) (url string, conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	var n atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "" && r.URL.Path == "/keyed" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"graphql-ws"}})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(-1)
		if r.URL.Path == "/graphql" && conn.Subprotocol() != "graphql-ws" {
			return
		}
		conns.Add(1)
		if r.URL.Path == "/greeting" {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte("hello"))
		}
		for {
			kind, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			if message = answer(n.Add(1), conn, message); message == nil {
				return
			}
			if conn.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http"), conns
}

func runWebSocket(t *testing.T, target *Target, plan Plan) *Result {
	t.Helper()
	target.Proto, target.Streams, target.TLS = "websocket", 1, &tls.Config{InsecureSkipVerify: true}
	pool := opened(t, target)
	plan.Lines = pool.Lines
	r := measured(t, plan)
	return r
}

// Messages go out and come back at their rate over connections that are kept. A greeting does not
// answer any of them.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		u, conns := echo(t, secure, func(_ int64, _ *websocket.Conn, m []byte) []byte { return m })
		for _, body := range []string{"", "text", "\xff\x00binary", strings.Repeat("long", 50_000)} {
			conns.Store(0)
			r := runWebSocket(t, &Target{Conns: 4, Request: Request{URL: parsed(t, u+"/greeting"), Body: []byte(body)}}, Plan{Pacer: Constant{100, 400 * time.Millisecond}})
			if r.Done != 40 || r.Failed() > 0 || conns.Load() != 4 {
				t.Errorf("tls %v, body of %d: %d done, %v, %d connections", secure, len(body), r.Done, r.Errors, conns.Load())
			}
		}
	}
}

// What goes wrong is said with its reason. A connection that the server closes is opened again.
func TestWebSocketFailures(t *testing.T) {
	t.Parallel()
	plan := Plan{Pacer: Constant{20, 500 * time.Millisecond}}
	for _, c := range []struct {
		path, want string
		answer     func(n int64, conn *websocket.Conn, m []byte) []byte
	}{
		{"/", "the server closed the WebSocket: StatusGoingAway", func(_ int64, c *websocket.Conn, _ []byte) []byte {
			_ = c.Close(websocket.StatusGoingAway, "")
			return nil
		}},
		{"/keyed", "the server does not open a WebSocket: status 403 Forbidden", nil},
		{"/", "no answer within 500ms", func(_ int64, c *websocket.Conn, _ []byte) []byte {
			_, _, _ = c.Read(context.Background()) // until the client gives up
			return nil
		}},
	} {
		u, _ := echo(t, false, c.answer)
		timeout := 30 * time.Second
		if _, limit, ok := strings.Cut(c.want, "within "); ok {
			var err error
			if timeout, err = time.ParseDuration(limit); err != nil {
				t.Fatal(err)
			}
		}
		r := runWebSocket(t, &Target{Conns: 2, Timeout: timeout, Request: Request{URL: parsed(t, u+c.path)}}, plan)
		if r.Done != 10 || r.Errors[c.want] == 0 {
			t.Errorf("%s: %d done, %v", c.want, r.Done, r.Errors)
		}
	}
	// Half of the messages end their connection. The others come back all the same.
	u, _ := echo(t, false, func(n int64, c *websocket.Conn, m []byte) []byte {
		if n%2 == 0 {
			return nil
		}
		return m
	})
	if r := runWebSocket(t, &Target{Conns: 1, Request: Request{URL: parsed(t, u)}}, plan); r.Failed() != 5 || r.Done != 10 {
		t.Errorf("%d of %d: %v", r.Failed(), r.Done, r.Errors)
	}
}

// A subprotocol is agreed on, and any message is an answer.
func TestWebSocketAnswers(t *testing.T) {
	t.Parallel()
	u, _ := echo(t, false, func(int64, *websocket.Conn, []byte) []byte { return []byte("another") })
	header := http.Header{"Sec-Websocket-Protocol": {"chat, graphql-ws"}}
	r := runWebSocket(t, &Target{Conns: 2, Request: Request{URL: parsed(t, u+"/graphql"), Header: header}}, Plan{Pacer: Constant{20, 500 * time.Millisecond}})
	if r.Done != 10 || r.Failed() > 0 {
		t.Errorf("%d answers, %v", r.Done, r.Errors)
	}
}

// ws and wss URLs go with websocket, and with no other protocol.
func TestWebSocketScheme(t *testing.T) {
	t.Parallel()
	for proto, u := range map[string]string{"http1": "ws://h/", "http2": "wss://h/", "websocket": "http://h/"} {
		_, err := Open(context.Background(), &Target{Proto: proto, Conns: 1, Streams: 1, Request: Request{URL: parsed(t, u)}})
		if err == nil || !strings.Contains(err.Error(), "ws and wss URLs go with websocket") {
			t.Errorf("%s by %s: %v", u, proto, err)
		}
	}
}
