package webpush_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// quick is a retry policy for tests.
var quick = webpush.Retry{Attempts: 3, Base: time.Millisecond, Max: 5 * time.Millisecond, MaxRetryAfter: 50 * time.Millisecond}

func newRing(t testing.TB, older ...*webpush.VAPIDKeys) *webpush.KeyRing {
	t.Helper()
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := webpush.NewKeyRing(keys, older...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// newClient makes a client of the service. What cfg leaves out is filled in.
func newClient(t testing.TB, service *pushtest.Server, cfg webpush.Config) *webpush.Client {
	t.Helper()
	if cfg.Keys == nil {
		cfg.Keys = newRing(t)
	}
	if cfg.Subject == "" {
		cfg.Subject = "mailto:ops@example.com"
	}
	if cfg.Transport == nil && service != nil {
		transport := service.Transport()
		t.Cleanup(transport.CloseIdleConnections)
		cfg.Transport = transport
	}
	if cfg.Retry == (webpush.Retry{}) {
		cfg.Retry = quick
	}
	c, err := webpush.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func newService(t testing.TB, options ...pushtest.Option) *pushtest.Server {
	t.Helper()
	service := pushtest.NewServer(options...)
	t.Cleanup(service.Close)
	return service
}

var longLine = strings.Repeat("and so on ", 100) + "\n"

// endless answers with a status and a body that does not end.
func endless(code int, piece string, pause time.Duration) pushtest.Fault {
	return func(x *pushtest.Exchange) {
		x.Writer.WriteHeader(code)
		control := http.NewResponseController(x.Writer)
		for {
			if _, err := io.WriteString(x.Writer, piece); err != nil || control.Flush() != nil {
				return
			}
			select {
			case <-time.After(pause):
			case <-x.Request.Context().Done():
				return
			case <-x.Closing:
				return
			}
		}
	}
}

func parse(t testing.TB, text []byte) webpush.Subscription {
	t.Helper()
	sub, err := webpush.ParseSubscription(text)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestSend(t *testing.T) {
	for name, options := range map[string][]pushtest.Option{"HTTP/2.0": nil, "HTTP/1.1": {pushtest.WithHTTP1()}} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			service := newService(t, options...)
			ring := newRing(t)
			client := newClient(t, service, webpush.Config{Keys: ring})
			browser := service.Subscribe(ring.Current().PublicKey())
			receipt, err := client.Send(t.Context(), parse(t, browser.JSON()), []byte("hello"), webpush.Options{
				TTL: 60 * 24 * time.Hour, Urgency: webpush.UrgencyHigh, Topic: "scores_2-1", Padding: webpush.PadToBlock(64),
			})
			if err != nil {
				t.Fatal(err)
			}
			if receipt.Status != 201 || receipt.Attempts != 1 || receipt.MaybeDuplicate || receipt.TTL != 28*24*time.Hour ||
				receipt.ServerKey != ring.Current().PublicKey() || !strings.HasPrefix(receipt.Location, service.URL) {
				t.Errorf("%+v", receipt)
			}
			messages := browser.Messages()
			if len(messages) != 1 {
				t.Fatalf("%d messages", len(messages))
			}
			m := messages[0]
			if m.Err != nil || string(m.Data) != "hello" || m.TTL != 60*24*time.Hour || m.Urgency != "high" || m.Topic != "scores_2-1" ||
				m.Proto != name || m.ContentType != "application/octet-stream" || m.Claims.Subject != "mailto:ops@example.com" {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestNewRequest sends the request by net/http's own client, twice through
// GetBody, and compares it with what http.NewRequest builds.
func TestNewRequest(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	browser := service.Subscribe("")
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "kept")
	request, err := client.NewRequest(ctx, parse(t, browser.JSON()), []byte("by hand"), webpush.Options{Topic: "tt", Header: http.Header{"x-wns-cache-policy": {"no-cache"}}})
	if err != nil {
		t.Fatal(err)
	}
	if request.Context().Value(key{}) != "kept" {
		t.Error("the context is lost")
	}
	twin, err := http.NewRequestWithContext(ctx, "POST", browser.Endpoint(), bytes.NewReader(make([]byte, request.ContentLength)))
	if err != nil {
		t.Fatal(err)
	}
	if *request.URL != *twin.URL || request.Host != twin.Host || request.Method != twin.Method || request.Proto != twin.Proto ||
		request.ProtoMajor != twin.ProtoMajor || request.ProtoMinor != twin.ProtoMinor || request.ContentLength != twin.ContentLength {
		t.Errorf("%+v\nis not like\n%+v", request, twin)
	}
	for name := range request.Header {
		if http.CanonicalHeaderKey(name) != name || len(request.Header.Values(name)) != 1 {
			t.Errorf("header %q: %q", name, request.Header.Values(name))
		}
	}
	request.Header.Add("Topic", "another") // must not run into its neighbour
	if request.Header.Get("Urgency") != "" || request.Header.Get("Ttl") != "2419200" || request.Header.Get("X-WNS-Cache-Policy") != "no-cache" {
		t.Errorf("%v", request.Header)
	}
	request.Header.Set("Topic", "tt")
	web := &http.Client{Transport: service.Transport()}
	defer web.CloseIdleConnections()
	for range 2 {
		response, err := web.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != 201 {
			t.Errorf("status %d", response.StatusCode)
		}
		if request.Body, err = request.GetBody(); err != nil {
			t.Fatal(err)
		}
	}
	body, err := io.ReadAll(request.Body)
	if err != nil || int64(len(body)) != request.ContentLength {
		t.Errorf("%d bytes of body, %v", len(body), err)
	}
	for _, m := range browser.Messages() {
		if m.Err != nil || string(m.Data) != "by hand" {
			t.Errorf("%+v", m)
		}
	}
	parts, header, err := client.AppendMessage(nil, []byte("x"), parse(t, browser.JSON()), webpush.Options{TTL: webpush.TTLZero})
	if err != nil || header.TTL != "0" || header.Authorization == "" || len(parts) != 1+webpush.OverheadBytes {
		t.Errorf("%v, %d bytes, %v", header, len(parts), err)
	}
}

// faultCase is one thing that can go wrong and the outcome it must have.
type faultCase struct {
	name       string
	faults     []pushtest.Fault
	retry      webpush.Retry
	outcome    webpush.Outcome
	target     error // of errors.Is
	attempts   int
	requests   int
	delivered  int
	maybe      bool // MaybeSent or MaybeDuplicate
	retryAfter time.Duration
	reason     string
}

func TestFaults(t *testing.T) {
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	afterWrite := quick
	afterWrite.AfterWrite = true
	status, deadline := pushtest.Status, context.DeadlineExceeded
	for _, c := range []faultCase{
		{name: "404", faults: []pushtest.Fault{status(404)}, outcome: webpush.Gone, target: webpush.Gone, attempts: 1, requests: 1, reason: "pushtest says Not Found"},
		{name: "410", faults: []pushtest.Fault{status(410)}, outcome: webpush.Gone, target: webpush.Gone, attempts: 1, requests: 1, reason: "pushtest says Gone"},
		{name: "413", faults: []pushtest.Fault{status(413)}, outcome: webpush.TooLarge, target: webpush.TooLarge, attempts: 1, requests: 1, reason: "pushtest"},
		{name: "400", faults: []pushtest.Fault{status(400)}, outcome: webpush.Rejected, target: webpush.Rejected, attempts: 1, requests: 1, reason: "Bad Request"},
		{name: "redirect", faults: []pushtest.Fault{status(307, "Location", "https://elsewhere.example/")}, outcome: webpush.Rejected, target: webpush.Rejected, attempts: 1, requests: 1},
		{name: "429 once", faults: []pushtest.Fault{status(429)}, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1},
		{name: "429 with a wait", faults: []pushtest.Fault{status(429, "Retry-After", "0")}, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1},
		{name: "429 with a long wait", faults: []pushtest.Fault{status(429, "Retry-After", "3600")}, outcome: webpush.RateLimited, target: webpush.RateLimited, attempts: 1, requests: 1, retryAfter: time.Hour},
		{name: "429 with a date", faults: []pushtest.Fault{status(429, "Retry-After", later)}, outcome: webpush.RateLimited, target: webpush.RateLimited, attempts: 1, requests: 1, retryAfter: time.Hour},
		{name: "429 with nonsense", faults: []pushtest.Fault{status(429, "Retry-After", "soon")}, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1},
		{name: "429 always", faults: []pushtest.Fault{status(429), status(429), status(429)}, outcome: webpush.RateLimited, target: webpush.RateLimited, attempts: 3, requests: 3},
		{name: "500, after write", faults: []pushtest.Fault{status(500)}, retry: afterWrite, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1, maybe: true},
		{name: "500", faults: []pushtest.Fault{status(500)}, outcome: webpush.Unavailable, target: webpush.Unavailable, attempts: 1, requests: 1, maybe: true},
		{name: "503 then 201", faults: []pushtest.Fault{status(503)}, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1},
		{name: "503 always", faults: []pushtest.Fault{status(503), status(503), status(503)}, outcome: webpush.Unavailable, target: webpush.Unavailable, attempts: 3, requests: 3},
		{name: "stall", faults: []pushtest.Fault{pushtest.Stall()}, outcome: webpush.Unreachable, target: deadline, attempts: 1, requests: 1, maybe: true},
		{name: "slow", faults: []pushtest.Fault{pushtest.Slow(20 * time.Millisecond)}, outcome: webpush.Accepted, attempts: 1, requests: 1, delivered: 1},
		{name: "reset", faults: []pushtest.Fault{pushtest.Reset()}, outcome: webpush.Unreachable, target: webpush.Unreachable, attempts: 1, requests: 1, maybe: true},
		{name: "reset, after write", faults: []pushtest.Fault{pushtest.Reset()}, retry: afterWrite, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 1, maybe: true},
		{name: "taken, then reset", faults: []pushtest.Fault{pushtest.AcceptThen(pushtest.Reset())}, outcome: webpush.Unreachable, target: webpush.Unreachable, attempts: 1, requests: 1, delivered: 1, maybe: true},
		{name: "taken, then reset, after write", faults: []pushtest.Fault{pushtest.AcceptThen(pushtest.Reset())}, retry: afterWrite, outcome: webpush.Accepted, attempts: 2, requests: 2, delivered: 2, maybe: true},
		{name: "endless 400", faults: []pushtest.Fault{endless(400, longLine, 0)}, outcome: webpush.Rejected, target: webpush.Rejected, attempts: 1, requests: 1, reason: "and so on"},
		{name: "endless 201", faults: []pushtest.Fault{endless(201, longLine, 0)}, outcome: webpush.Accepted, attempts: 1, requests: 1},
		{name: "dribbling 403", faults: []pushtest.Fault{endless(403, ". ", 50*time.Millisecond)}, outcome: webpush.Rejected, target: webpush.Rejected, attempts: 1, requests: 1, reason: "."},
	} {
		for proto, options := range map[string][]pushtest.Option{"h2": nil, "h1": {pushtest.WithHTTP1()}} {
			t.Run(c.name+","+proto, func(t *testing.T) {
				t.Parallel()
				service := newService(t, options...)
				cfg := webpush.Config{Retry: c.retry, Timeout: 5 * time.Second}
				if c.name == "stall" || c.name == "dribbling 403" {
					cfg.Timeout = 3 * time.Second // it takes all of it
				}
				client := newClient(t, service, cfg)
				browser := service.Subscribe("")
				sub := parse(t, browser.JSON())
				service.Inject(c.faults...)
				receipt, err := client.Send(t.Context(), sub, []byte("hello"), webpush.Options{})
				checkFault(t, c, webpush.Result{Receipt: receipt, Err: err}, sub)
				if service.Requests() != c.requests || len(browser.Messages()) != c.delivered {
					t.Errorf("%d requests and %d messages, want %d and %d", service.Requests(), len(browser.Messages()), c.requests, c.delivered)
				}
			})
		}
	}
}

func checkFault(t *testing.T, c faultCase, got webpush.Result, sub webpush.Subscription) {
	t.Helper()
	if got.Outcome() != c.outcome {
		t.Fatalf("%s (%v), want %s", got.Outcome(), got.Err, c.outcome)
	}
	if got.Err == nil {
		if got.Receipt.Attempts != c.attempts || got.Receipt.MaybeDuplicate != c.maybe {
			t.Errorf("%+v", got.Receipt)
		}
		return
	}
	e, ok := webpush.AsType[*webpush.SendError](got.Err)
	if !ok {
		t.Fatalf("%T", got.Err)
	}
	if !errors.Is(got.Err, c.target) || e.Attempts != c.attempts || e.MaybeSent != c.maybe || !strings.Contains(e.Reason, c.reason) || len(e.Reason) > 1024 {
		t.Errorf("%v: %+v", got.Err, *e)
	}
	if d := e.RetryAfter - c.retryAfter; d > time.Second || d < -10*time.Minute {
		t.Errorf("retry after %s, want %s", e.RetryAfter, c.retryAfter)
	}
	if strings.Contains(got.Err.Error(), strings.TrimPrefix(sub.Endpoint(), sub.Origin())) {
		t.Errorf("the error tells the endpoint: %v", got.Err)
	}
}

func TestRotation(t *testing.T) {
	service := newService(t)
	old := newRing(t).Current()
	ring := newRing(t, old)
	client := newClient(t, service, webpush.Config{Keys: ring})
	browser := service.Subscribe(old.PublicKey())
	receipt, err := client.Send(t.Context(), parse(t, browser.JSON()), []byte("x"), webpush.Options{})
	if err != nil || receipt.ServerKey != old.PublicKey() || receipt.Attempts != 2 || receipt.MaybeDuplicate {
		t.Errorf("unknown key: %+v, %v", receipt, err)
	}
	withKey := strings.TrimSuffix(string(browser.JSON()), "}") + `,"applicationServerKey":"` + old.PublicKey() + `"}`
	receipt, err = client.Send(t.Context(), parse(t, []byte(withKey)), []byte("x"), webpush.Options{})
	if err != nil || receipt.ServerKey != old.PublicKey() || receipt.Attempts != 1 {
		t.Errorf("known key: %+v, %v", receipt, err)
	}
	lost := service.Subscribe(newRing(t).Current().PublicKey())
	_, err = client.Send(t.Context(), parse(t, lost.JSON()), []byte("x"), webpush.Options{})
	if e, ok := webpush.AsType[*webpush.SendError](err); !ok || e.Outcome != webpush.Rejected || e.Attempts != 2 {
		t.Errorf("lost key: %v", err)
	}
}

func TestSendRefusesBeforeSending(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{AllowOrigin: func(origin string) bool { return origin == service.URL }})
	sub := parse(t, service.Subscribe("").JSON())
	elsewhere := parse(t, bytes.Replace(service.Subscribe("").JSON(), []byte("https://127"), []byte("https://10"), 1))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		sub     webpush.Subscription
		bytes   int
		opts    webpush.Options
		outcome webpush.Outcome
		target  error
	}{
		{"one byte too long", t.Context(), sub, webpush.MaxMessageBytes + 1, webpush.Options{}, webpush.TooLarge, webpush.TooLarge},
		{"no subscription", t.Context(), webpush.Subscription{}, 1, webpush.Options{}, webpush.Invalid, nil},
		{"origin", t.Context(), elsewhere, 1, webpush.Options{}, webpush.Invalid, nil},
		{"canceled", canceled, sub, 1, webpush.Options{}, webpush.Canceled, context.Canceled},
		{"urgency", t.Context(), sub, 1, webpush.Options{Urgency: "extreme"}, webpush.Failed, nil},
		{"long topic", t.Context(), sub, 1, webpush.Options{Topic: strings.Repeat("x", 33)}, webpush.Failed, nil},
		{"topic that Apple refuses", t.Context(), sub, 1, webpush.Options{Topic: "daily"}, webpush.Failed, nil},
		{"topic that Apple refuses", t.Context(), sub, 1, webpush.Options{Topic: "newsletter-17"}, webpush.Failed, nil},
		{"TTL: 60", t.Context(), sub, 1, webpush.Options{TTL: 60}, webpush.Failed, nil},
		{"a field of ours", t.Context(), sub, 1, webpush.Options{Header: http.Header{"ttl": {"5"}}}, webpush.Failed, nil},
		{"bad topic", t.Context(), sub, 1, webpush.Options{Topic: "a b"}, webpush.Failed, nil},
		{"TTL", t.Context(), sub, 1, webpush.Options{TTL: -time.Second}, webpush.Failed, nil},
		{"long TTL", t.Context(), sub, 1, webpush.Options{TTL: 70 * 365 * 24 * time.Hour}, webpush.Failed, nil},
		{"padding", t.Context(), sub, 1, webpush.Options{Padding: webpush.PadToBlock(9999)}, webpush.Failed, nil},
		{"content type", t.Context(), sub, 1, webpush.Options{ContentType: "a\r\nb: c"}, webpush.Failed, nil},
	} {
		_, err := client.Send(c.ctx, c.sub, make([]byte, c.bytes), c.opts)
		e, ok := webpush.AsType[*webpush.SendError](err)
		if !ok || e.Outcome != c.outcome || e.Attempts != 0 || e.MaybeSent || (c.target != nil && !errors.Is(err, c.target)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := sendTo(t, client, elsewhere); err == nil || !strings.HasSuffix(err.Error(), "origin "+elsewhere.Origin()+" is not allowed") {
		t.Errorf("another origin: %v", err)
	}
	if _, err := client.Send(t.Context(), sub, make([]byte, webpush.MaxMessageBytes), webpush.Options{}); err != nil {
		t.Errorf("the longest message: %v", err)
	}
	if service.Requests() != 1 {
		t.Errorf("%d requests, want 1", service.Requests())
	}
	client.Close()
	if err := sendTo(t, client, sub); !errors.Is(err, webpush.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func sendTo(t *testing.T, c *webpush.Client, sub webpush.Subscription) error {
	t.Helper()
	_, err := c.Send(t.Context(), sub, []byte("x"), webpush.Options{})
	return err
}

// TestUnreachable sends to a port that nobody listens on: it is safe to try
// again, and nothing can have been delivered.
func TestUnreachable(t *testing.T) {
	dead := httptest.NewTLSServer(http.NotFoundHandler())
	dead.Close()
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	text := bytes.Replace(service.Subscribe("").JSON(), []byte(service.URL), []byte(dead.URL), 1)
	e, ok := webpush.AsType[*webpush.SendError](sendTo(t, client, parse(t, text)))
	if !ok || e.Outcome != webpush.Unreachable || e.Attempts != 3 || e.MaybeSent {
		t.Errorf("%+v", e)
	}
}

// TestCancelDuringSend cancels while the service stalls, and while a retry waits.
func TestCancelDuringSend(t *testing.T) {
	for name, fault := range map[string]pushtest.Fault{"stall": pushtest.Stall(), "wait": pushtest.Status(503)} {
		t.Run(name, func(t *testing.T) {
			service := newService(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			interrupt := func() { time.AfterFunc(100*time.Millisecond, cancel) }
			transport := service.Transport()
			defer transport.CloseIdleConnections()
			client := newClient(t, service, webpush.Config{Retry: webpush.Retry{Base: time.Hour, Max: time.Hour},
				Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					defer interrupt() // the answer is there: the wait begins
					return transport.RoundTrip(r)
				})})
			service.Inject(func(x *pushtest.Exchange) {
				if name == "stall" {
					io.Copy(io.Discard, x.Request.Body) //nolint:errcheck // its end says that the whole request is there
					interrupt()
				}
				fault(x)
			})
			start := time.Now()
			_, err := client.Send(ctx, parse(t, service.Subscribe("").JSON()), nil, webpush.Options{})
			e, ok := webpush.AsType[*webpush.SendError](err)
			if !ok || e.Outcome != webpush.Canceled || !errors.Is(err, context.Canceled) || e.Attempts != 1 || e.MaybeSent != (name == "stall") {
				t.Errorf("%v", err)
			}
			if elapsed := time.Since(start); elapsed > 30*time.Second {
				t.Errorf("took %s to stop", elapsed)
			}
		})
	}
	service := newService(t) // a wait longer than the context's deadline is not begun
	client := newClient(t, service, webpush.Config{Retry: webpush.Retry{Base: time.Hour, Max: time.Hour}})
	service.Inject(pushtest.Status(429))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Send(ctx, parse(t, service.Subscribe("").JSON()), nil, webpush.Options{}); !errors.Is(err, webpush.RateLimited) {
		t.Errorf("%v", err)
	}
}

// TestNothingIsLeftRunning opens and closes clients of every mode.
func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, reuse := range []webpush.Reuse{
		webpush.Reuse{}, webpush.SharedKey(time.Hour), webpush.SessionKeys(time.Hour, 10),
	} {
		service := pushtest.NewServer()
		cfg := webpush.Config{Keys: newRing(t), Subject: "mailto:ops@example.com", Reuse: reuse, Transport: service.Transport(), Retry: quick}
		client, err := webpush.NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := sendTo(t, client, parse(t, service.Subscribe("").JSON())); err != nil {
				t.Error(err)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		cfg.Transport.(*http.Transport).CloseIdleConnections()
		service.Close()
	}
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	buffer := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buffer[:runtime.Stack(buffer, true)])
}
