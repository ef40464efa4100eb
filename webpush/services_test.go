package webpush_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// What the big push services answer, with the public source.

// wnsThrottled is how Windows Push Notification Services (Edge) say "too many": 406, not 429
// (learn.microsoft.com, "Push notification service request and response headers"), with the fields
// of web-push-libs/web-push-csharp issue 93.
func wnsThrottled(retryAfter time.Duration) pushtest.Fault {
	return pushtest.Status(http.StatusNotAcceptable, "Retry-After", fmt.Sprint(int(retryAfter.Seconds())), "X-WNS-Status", "appthrottled")
}

// appleKeyMismatch is 400, where others answer 401 or 403 (developer.apple.com, "Sending web push
// notifications in web apps and browsers").
func appleKeyMismatch() pushtest.Fault {
	return pushtest.Answer(http.StatusBadRequest, `{"reason":"VapidPkHashMismatch"}`)
}

// autopushBridge is Mozilla's service on the way to Firefox for Android: a body of more than 4096
// bytes in base64 is refused (autopush-rs, autoendpoint/src/routers/fcm/settings.rs; the answer as
// in SherClockHolmes/webpush-go issue 23).
func autopushBridge(x *pushtest.Exchange) {
	excess := (int(x.Request.ContentLength)*4+2)/3 - 4096
	if excess <= 0 {
		x.Accept(x.Writer)
		return
	}
	text := `{"code":413,"errno":104,"message":"This message is intended for a constrained device and is limited to 3070 bytes. Converted buffer too long by %d bytes"}`
	pushtest.Answer(http.StatusRequestEntityTooLarge, fmt.Sprintf(text, excess))(x)
}

func sendError(t *testing.T, err error) *webpush.SendError {
	t.Helper()
	e, ok := webpush.AsType[*webpush.SendError](err)
	if !ok {
		t.Fatalf("not a SendError: %v", err)
	}
	return e
}

func TestWNSThrottles(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	sub := parse(t, service.Subscribe("").JSON())
	service.Inject(wnsThrottled(0))
	if receipt, err := client.Send(t.Context(), sub, nil, webpush.Options{}); err != nil || receipt.Attempts != 2 || receipt.MaybeDuplicate {
		t.Errorf("%+v, %v; want it tried again", receipt, err)
	}
	service.Inject(wnsThrottled(15 * time.Minute))
	_, err := client.Send(t.Context(), sub, nil, webpush.Options{})
	if e := sendError(t, err); e.Outcome != webpush.RateLimited || e.RetryAfter != 15*time.Minute || !errors.Is(err, webpush.RateLimited) {
		t.Errorf("%v; want rate limited for 15 minutes", err)
	}
	service.Inject(pushtest.Status(http.StatusNotAcceptable)) // not throttling: no Retry-After, no X-WNS-Status
	if _, err := client.Send(t.Context(), sub, nil, webpush.Options{}); sendError(t, err).Outcome != webpush.Rejected {
		t.Errorf("%v; want rejected", err)
	}
}

// TestRotationAtApple has the current key refused the way Apple does.
func TestRotationAtApple(t *testing.T) {
	service := newService(t)
	old := newRing(t).Current()
	client := newClient(t, service, webpush.Config{Keys: newRing(t, old)})
	browser := service.Subscribe(old.PublicKey())
	browser.Inject(appleKeyMismatch())
	receipt, err := client.Send(t.Context(), parse(t, browser.JSON()), []byte("x"), webpush.Options{})
	if err != nil || receipt.ServerKey != old.PublicKey() || receipt.Attempts != 2 {
		t.Errorf("%+v, %v; want the older key tried", receipt, err)
	}
}

// TestLongestToken signs tokens of 24 hours for services whose clock is wrong.
func TestLongestToken(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-5 * time.Minute, -30 * time.Second, 0, 5 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			var offset atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
			service := newService(t, pushtest.WithClock(func() time.Time { return now().Add(skew) }))
			client := newClient(t, service, webpush.Config{}.WithClock(now))
			sub := parse(t, service.Subscribe("").JSON())
			for range 24*12 + 3 { // every five minutes of more than a day
				if _, err := client.Send(t.Context(), sub, nil, webpush.Options{}); err != nil {
					t.Fatalf("after %s: %v", time.Duration(offset.Load()), err)
				}
				offset.Add(int64(5 * time.Minute))
			}
		})
	}
}

// TestRetryAfterByTheirClock has a service name a date by its own clock, which differs from ours.
func TestRetryAfterByTheirClock(t *testing.T) {
	sub := strangers(t, 1)[0]
	for _, skew := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		client := newClient(t, nil, webpush.Config{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			now := time.Now().Add(skew).UTC()
			return answerWith(429, "Date", now.Format(http.TimeFormat), "Retry-After", now.Add(2*time.Hour).Format(http.TimeFormat)), nil
		})})
		if e := sendError(t, sendTo(t, client, sub)); e.RetryAfter != 2*time.Hour || e.Attempts != 1 {
			t.Errorf("their clock is %s ahead: retry after %s, %d attempts", skew, e.RetryAfter, e.Attempts)
		}
	}
}

// TestRetriesObeyTheTTL has the service busy for longer than the message lives.
func TestRetriesObeyTheTTL(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	sub := parse(t, service.Subscribe("").JSON())
	for name, c := range map[string]struct {
		ttl      time.Duration
		fault    pushtest.Fault
		requests int
	}{
		"now or never, busy":       {webpush.TTLZero, pushtest.Status(503), 1},
		"now or never, throttled":  {webpush.TTLZero, pushtest.Status(429, "Retry-After", "0"), 1},
		"one second, but two more": {time.Second, pushtest.Status(503, "Retry-After", "2"), 1},
		"a minute":                 {time.Minute, pushtest.Status(503), 2},
	} {
		before := service.Requests()
		service.Inject(c.fault)
		_, err := client.Send(t.Context(), sub, nil, webpush.Options{TTL: c.ttl})
		if n := service.Requests() - before; n != c.requests || (err == nil) != (c.requests == 2) {
			t.Errorf("%s: %d requests, %v; want %d", name, n, err, c.requests)
		}
	}
}

// TestAmbiguousStatuses answers 500, 502 and 504 to a message that was taken: it is
// not sent again unless asked for, and the result says that it may have been taken.
func TestAmbiguousStatuses(t *testing.T) {
	for _, status := range []int{500, 502, 504} {
		service := newService(t)
		browser := service.Subscribe("")
		sub := parse(t, browser.JSON())
		client := newClient(t, service, webpush.Config{})
		service.Inject(pushtest.AcceptThen(pushtest.Status(status)))
		_, err := client.Send(t.Context(), sub, nil, webpush.Options{})
		if e := sendError(t, err); e.Outcome != webpush.Unavailable || !e.MaybeSent || len(browser.Messages()) != 1 {
			t.Errorf("%d: %v; delivered %d times", status, err, len(browser.Messages()))
		}
		after := quick
		after.AfterWrite = true
		client = newClient(t, service, webpush.Config{Retry: after})
		service.Inject(pushtest.AcceptThen(pushtest.Status(status)))
		receipt, err := client.Send(t.Context(), sub, nil, webpush.Options{})
		if err != nil || !receipt.MaybeDuplicate || receipt.Attempts != 2 {
			t.Errorf("%d, after write: %+v, %v", status, receipt, err)
		}
	}
}

// TestTransportWithoutTrace sends through a RoundTripper that knows nothing of
// net/http/httptrace and loses the answer: the message may have been taken.
func TestTransportWithoutTrace(t *testing.T) {
	for _, sends := range []bool{true, false} {
		t.Run(fmt.Sprintf("sends=%v", sends), func(t *testing.T) {
			service := newService(t)
			transport := service.Transport()
			defer transport.CloseIdleConnections()
			client := newClient(t, nil, webpush.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if !sends {
					return nil, errors.New("no route")
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				mine, err := http.NewRequestWithContext(context.Background(), r.Method, r.URL.String(), strings.NewReader(string(body)))
				if err != nil {
					return nil, err
				}
				mine.Header = r.Header
				response, err := transport.RoundTrip(mine)
				if err == nil {
					response.Body.Close()
				}
				return nil, errors.New("the connection broke")
			})})
			browser := service.Subscribe("")
			_, err := client.Send(t.Context(), parse(t, browser.JSON()), nil, webpush.Options{})
			e := sendError(t, err)
			if sends && (e.Attempts != 1 || !e.MaybeSent || len(browser.Messages()) != 1) {
				t.Errorf("%d attempts, %d messages: %v", e.Attempts, len(browser.Messages()), err)
			}
			if !sends && (e.Attempts != 3 || e.MaybeSent) {
				t.Errorf("%d attempts: %v", e.Attempts, err)
			}
		})
	}
}

// TestKeyMismatch has every key refused: the outcome says what to do, at whichever
// service says so.
func TestKeyMismatch(t *testing.T) {
	service := newService(t)
	for name, fault := range map[string]pushtest.Fault{"Apple": appleKeyMismatch(), "Google": pushtest.Answer(http.StatusForbidden, "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n")} {
		client := newClient(t, service, webpush.Config{Keys: newRing(t, newRing(t).Current())})
		browser := service.Subscribe("")
		browser.Inject(fault, fault)
		_, err := client.Send(t.Context(), parse(t, browser.JSON()), nil, webpush.Options{})
		if e := sendError(t, err); e.Outcome != webpush.KeyMismatch || e.Attempts != 2 || !errors.Is(err, webpush.KeyMismatch) || !strings.Contains(err.Error(), "subscribe again") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFirefoxForAndroid sends through the bridge.
func TestFirefoxForAndroid(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	browser := service.Subscribe("")
	sub := parse(t, browser.JSON())
	for _, c := range []struct {
		name    string
		bytes   int
		padding webpush.Padding
		outcome webpush.Outcome
		fits    int
		sent    bool
	}{
		{"short, padded to fit", 10, webpush.PadToFit(), webpush.Accepted, 0, true},
		{"the longest, padded to fit", webpush.MaxCompatibleMessageBytes, webpush.PadToFit(), webpush.Accepted, 0, true},
		{"one more, padded to fit", webpush.MaxCompatibleMessageBytes + 1, webpush.PadToFit(), webpush.TooLarge, webpush.MaxCompatibleMessageBytes, false},
		{"short, padded to 4096", 10, webpush.PadToBlock(3994), webpush.TooLarge, webpush.MaxCompatibleMessageBytes, true},
		{"3000 bytes", 3000, webpush.Padding{}, webpush.TooLarge, webpush.MaxCompatibleMessageBytes, true},
	} {
		before := service.Requests()
		browser.Inject(autopushBridge)
		receipt, err := client.Send(t.Context(), sub, make([]byte, c.bytes), webpush.Options{Padding: c.padding})
		if got := (webpush.Result{Receipt: receipt, Err: err}).Outcome(); got != c.outcome || (service.Requests() > before) != c.sent {
			t.Errorf("%s: %s (%v), %d requests", c.name, got, err, service.Requests()-before)
		}
		if c.outcome == webpush.TooLarge && (sendError(t, err).FitsBytes != c.fits || !strings.Contains(err.Error(), fmt.Sprint(c.fits))) {
			t.Errorf("%s: %v; want it to say that %d bytes fit", c.name, err, c.fits)
		}
	}
	browser = service.Subscribe("")
	browser.Inject(pushtest.Answer(413, `{"errno":104,"message":"Data payload too large, limit is 2048 bytes, current is 3070 bytes"}`))
	_, err := client.Send(t.Context(), parse(t, browser.JSON()), make([]byte, 2500), webpush.Options{})
	if e := sendError(t, err); e.FitsBytes != 2048-webpush.OverheadBytes {
		t.Errorf("%v; want it to say what the service takes", err)
	}
}

// TestFitsByWhatIsTooMuch has Mozilla's service say by how much the body in base64 is too long
// (autopush-rs, autoendpoint/src/routers/mod.rs, TooMuchData).
func TestFitsByWhatIsTooMuch(t *testing.T) {
	service := newService(t, pushtest.Always(pushtest.Answer(http.StatusRequestEntityTooLarge,
		`{"code":413,"errno":104,"message":"This message is intended for a constrained device and is limited in size. Converted buffer is too long by 41 bytes"}`)))
	client := newClient(t, service, webpush.Config{})
	_, err := client.Send(t.Context(), parse(t, service.Subscribe("").JSON()), make([]byte, 2000), webpush.Options{})
	if e := sendError(t, err); e.FitsBytes != 2000-31 {
		t.Errorf("%d bytes fit, want %d", e.FitsBytes, 2000-31)
	}
}
