package webpush_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// TestErrorsAndHeadersTellNothing logs and formats what a transport's error, which names the
// endpoint, and the token become.
func TestErrorsAndHeadersTellNothing(t *testing.T) {
	sub := parse(t, newService(t).Subscribe("").JSON())
	client := newClient(t, nil, webpush.Config{
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
		}),
	})
	err := sendTo(t, client, sub)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("the cause is lost: %v", err)
	}
	_, header, errHeader := client.AppendMessage(nil, nil, sub, webpush.Options{})
	if errHeader != nil {
		t.Fatal(errHeader)
	}
	values := []any{err, sendError(t, err).Err, webpush.Result{Err: err}, []any{err}, header, []webpush.Header{header}, struct{ H webpush.Header }{header}}
	secrets := []string{strings.TrimPrefix(sub.Endpoint(), sub.Origin()+"/"), strings.TrimPrefix(header.Authorization, "vapid t=")[:60]}
	for _, value := range values {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", value)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", value)
		}
		for i, secret := range secrets {
			if strings.Contains(log.String(), secret) || strings.Contains(log.String(), fmt.Sprintf("%x", secret)) {
				t.Errorf("%T: secret %d is shown:\n%s", value, i, log.String())
			}
		}
	}
}

type contextKey struct{}

// TestOnGoneOutlivesTheBroadcast interrupts a broadcast in OnGone: what is deleted there is
// deleted.
func TestOnGoneOutlivesTheBroadcast(t *testing.T) {
	service := newService(t)
	browser := service.Subscribe("")
	browser.Unsubscribe()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "kept"))
	called := false
	client := newClient(t, service, webpush.Config{OnGone: func(ctx context.Context, _ webpush.Subscription) {
		called = true
		cancel()
		if ctx.Err() != nil || ctx.Value(contextKey{}) != "kept" {
			t.Errorf("the hook's context: %v", ctx.Err())
		}
	}})
	_, _ = client.Send(ctx, parse(t, browser.JSON()), nil, webpush.Options{})
	if !called {
		t.Error("not called")
	}
}

func TestSubjects(t *testing.T) {
	for subject, want := range map[string]string{
		"mailto:ops@example.com": "mailto:ops@example.com", "MAILTO:ops@example.com": "mailto:ops@example.com", "HTTPS://example.com/contact": "https://example.com/contact", "https://93.184.216.34/": "https://93.184.216.34/",
		"mailto:ops@machine.local": "", "mailto:ops@example.invalid": "", "https://app.test": "", "mailto:ops@intranet": "", "https://10.0.0.1/": "", "https://box.local.": "", "MAILTO:x@LOCALHOST": "",
		"mailto:x@app.localhost": "", "https://LOCALHOST/contact": "", "https://[::1]:8080/": "", "": "", "https:/x": "", "mailto:nobody": "", "mailto:<a@b.example.com>": "",
		"ops@example.com": "", "mailto:": "", "http://example.com": "", "mailto:a b@example.com": "", "mailto:@example.com": "",
	} {
		client, err := webpush.NewClient(webpush.Config{Keys: newRing(t), Subject: subject})
		if (err == nil) != (want != "") || strings.Contains(strings.ToLower(subject), "localhost") && !strings.Contains(err.Error(), "BadJwtToken") {
			t.Errorf("%s: %v", subject, err)
		}
		if err != nil {
			continue
		}
		_, header, err := client.AppendMessage(nil, nil, strangers(t, 1)[0], webpush.Options{})
		if err != nil {
			t.Fatal(err)
		}
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(header.Authorization, ".")[1])
		if err != nil || !strings.Contains(string(claims), fmt.Sprintf("%q", want)) {
			t.Errorf("%s: signed as %s", subject, claims)
		}
	}
}

// TestRefusedForTheClock has our clock wrong by an hour and a service that says so with 403: that
// is no outcome of the subscription.
func TestRefusedForTheClock(t *testing.T) {
	for _, skew := range []time.Duration{-13 * time.Hour, 13 * time.Hour, -20 * time.Minute, 0} {
		for _, status := range []int{400, 401, 403} {
			client := newClient(t, nil, webpush.Config{
				Keys: newRing(t, newRing(t).Current()),
				Transport: roundTripper(func(*http.Request) (*http.Response, error) {
					return answerWith(status, "Date", time.Now().UTC().Format(http.TimeFormat)), nil
				}),
			}.WithClock(func() time.Time { return time.Now().Add(skew) }))
			_, err := client.Send(t.Context(), strangers(t, 1)[0], nil, webpush.Options{})
			result := webpush.Result{Err: err}
			if wrong := skew.Abs() > time.Hour; result.Final() == wrong || wrong != strings.Contains(err.Error(), "clock") {
				t.Errorf("our clock %s off, %d: final %v: %v", skew, status, result.Final(), err)
			}
		}
	}
}

// TestNoPayload sends no body, with HTTP/1.1 and HTTP/2, and with a connection that cannot be made.
func TestNoPayload(t *testing.T) {
	for _, options := range [][]pushtest.Option{nil, {pushtest.WithHTTP1()}} {
		service := newService(t, options...)
		var length atomic.Int64
		service.Inject(func(x *pushtest.Exchange) {
			length.Store(x.Request.ContentLength)
			x.Accept(x.Writer)
		})
		client := newClient(t, service, webpush.Config{})
		browser := service.Subscribe("")
		sub := parse(t, browser.JSON())
		if _, err := client.Send(t.Context(), sub, nil, webpush.Options{NoPayload: true, Urgency: webpush.UrgencyHigh}); err != nil {
			t.Fatal(err)
		}
		if m := browser.Messages(); len(m) != 1 || len(m[0].Body) != 0 || m[0].Data != nil || m[0].Err != nil || m[0].ContentType != "" || m[0].Urgency != "high" || length.Load() != 0 {
			t.Errorf("%+v, length %d", m, length.Load())
		}
		for name, bad := range map[string]webpush.Options{"padding": {NoPayload: true, Padding: webpush.PadToFit()}, "content type": {NoPayload: true, ContentType: "text/plain"}} {
			if _, err := client.Send(t.Context(), sub, nil, bad); (webpush.Result{Err: err}).Outcome() != webpush.Failed {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := client.Send(t.Context(), sub, []byte("x"), webpush.Options{NoPayload: true}); (webpush.Result{Err: err}).Outcome() != webpush.Failed {
			t.Errorf("with a message: %v", err)
		}
		service.Inject(pushtest.Reset())
		if _, err := client.Send(t.Context(), sub, nil, webpush.Options{NoPayload: true}); !sendError(t, err).MaybeSent {
			t.Errorf("reset after it was sent: %v", err)
		}
		client = newClient(t, service, webpush.Config{})
		service.Close()
		if _, err := client.Send(t.Context(), sub, nil, webpush.Options{NoPayload: true}); sendError(t, err).MaybeSent || sendError(t, err).Attempts != 3 {
			t.Errorf("not connected: %v", err)
		}
	}
}
