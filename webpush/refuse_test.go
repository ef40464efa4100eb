//go:build unix

package webpush_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"postage/webpush"
	"postage/webpush/receiver"
)

// TestRefusedAddressIsAnOutcome has subscriptions name this machine: each is refused once, for
// good, and says nothing of the others at its origin.
func TestRefusedAddressIsAnOutcome(t *testing.T) {
	t.Parallel()
	service := newService(t)
	_, subs := audience(t, service, 20)
	client := newClient(t, nil, webpush.Config{Transport: webpush.NewTransport(nil)})
	name := filepath.Join(t.TempDir(), "results.ndjson")
	for run := range 2 {
		n := journalled(t.Context(), t, client, name, subs, func(_ int, result webpush.Result) {
			e := sendError(t, result.Err)
			if _, ok := webpush.AsType[*webpush.AddressError](e); !ok || e.Outcome != webpush.Invalid || e.Attempts != 1 || !result.Final() {
				t.Errorf("%s after %d attempts: %v", e.Outcome, e.Attempts, e)
			}
		})
		if want := []int{20, 0}[run]; n != want {
			t.Errorf("run %d: %d results, want %d", run+1, n, want)
		}
	}
}

// TestReasonsAreClean has a service quote the endpoint and the token in every way, cut short or
// not, and text that changes how other text is shown.
func TestReasonsAreClean(t *testing.T) {
	const token = "BQYAAADuof2gokJo/5NvhkH+ffAVvW41p31sJ1abcdefghijklmnopqrstuvwxyz"
	service := newService(t)
	text := strings.Replace(string(service.Subscribe("").JSON()), "/push/", "/w/?token="+strings.NewReplacer("/", "%2f", "+", "%2b").Replace(token), 1)
	sub := parse(t, []byte(text))
	lower := strings.ToLower
	for name, quote := range map[string]func(authorization string) string{
		"the endpoint":      func(string) string { return sub.Endpoint() },
		"escaped":           func(string) string { return strings.NewReplacer("/", "%2F", "+", "%2B").Replace(token) },
		"escaped twice":     func(string) string { return strings.NewReplacer("/", "%252f", "+", "%252b").Replace(token) },
		"every byte":        func(string) string { return percent(token) },
		"cut at the end":    func(string) string { return token[:30] },
		"cut at the start":  func(string) string { return token[25:] },
		"both":              func(string) string { return token[20:50] },
		"in small letters":  func(string) string { return lower(token) },
		"JSON":              func(string) string { return strings.ReplaceAll(token, "/", `\/`) },
		"the token only":    func(string) string { return sub.Endpoint()[strings.LastIndexByte(sub.Endpoint(), '=')+1:] },
		"JWT":               func(a string) string { return a },
		"JWT cut":           func(a string) string { return a[:60] },
		"JWT's middle":      func(a string) string { return a[60:100] },
		"JWT escaped":       func(a string) string { return strings.ReplaceAll(a, ".", "%2E") },
		"JWT in other case": func(a string) string { return lower(a)[:60] },
	} {
		var authorization string
		client := newClient(t, nil, webpush.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			authorization = strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t=")
			return &http.Response{StatusCode: 400, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader("bad\x00\xff\n\u202e (" + quote(authorization) + ") it is\u202e\u200f\u0007\x00\xff\n so"))}, nil
		})})
		err := sendTo(t, client, sub)
		shown := sendError(t, err).Reason
		for _, secret := range []string{token, lower(token), percent(token), strings.NewReplacer("/", "%252f", "+", "%252b").Replace(token), strings.ReplaceAll(token, "/", `\/`), authorization[:150], lower(authorization[:150])} {
			for i := 0; i+12 <= len(secret); i++ {
				if strings.Contains(shown, secret[i:i+12]) {
					t.Errorf("%s: %q is shown in %q", name, secret[i:i+12], shown)
					break
				}
			}
		}
		if strings.ContainsAny(shown, "\u202e\u200f\u0007\x00\n") || !utf8.ValidString(shown) || !strings.HasPrefix(shown, "bad") || !strings.HasSuffix(shown, "so") || !strings.Contains(shown, "[withheld]") {
			t.Errorf("%s: shown as %q", name, shown)
		}
	}
}

// TestShortEndpointsAreWithheld has a service quote an endpoint whose secret is short, has no digit,
// or is not the endpoint's last part, as UnifiedPush's are.
func TestShortEndpointsAreWithheld(t *testing.T) {
	service := newService(t)
	for _, c := range []struct{ path, quote, secret string }{
		{"/upDzMtZ4z4H8Wh?up=1", "topic upDzMtZ4z4H8Wh is full", "zMtZ4z4H"},
		{"/upDzMtZ4z4H8Wh?up=1", "Cannot POST /upDzMtZ4z4H8Wh", "zMtZ4z4H"},
		{"/p?id=Kd8sQ2vLx9Rt&up=1", "no /p?id=Kd8sQ2vLx9Rt&amp;up=1", "Kd8sQ2vL"},
		{"/push/Kd8s+2vLx9Rt/sub", "no Kd8s%2B2vLx9Rt", "2vLx9Rt"},
		{"/push/Kd8s%2b2vLx9Rt/sub", "no Kd8s+2vLx9Rt", "2vLx9Rt"},
		{"/push/Kd8sQ2vLx9Rt/sub", "no KD8SQ2VLX9RT", "KD8SQ2VL"},
		{"/push/Kd8sQ2vLx9Rt/sub", "no Kd8sQ2vLx", "Kd8sQ2vL"},
		{"/push/Kd8sQ/sub", "no Kd8sQ", "Kd8sQ"},
		{"/push/qWertzuiOpasdfghJklyxcvb/sub", "no qwertzuiopasdfghjklyxcvb", "qwertzui"},
		{"/push/dP2xV3hJ1cQ:APA91bFoo2Bar3Baz4Qux5/sub", "no dP2xV3hJ1cQ%3aapa91b", "P2xV3hJ1"},
	} {
		text := string(service.Subscribe("").JSON())
		at := strings.Index(text, "/push/")
		sub := parse(t, []byte(text[:at]+c.path+text[strings.IndexByte(text[at:], '"')+at:]))
		client := newClient(t, nil, webpush.Config{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return answerWithBody(400, "bad: "+c.quote), nil
		})})
		e := sendError(t, sendTo(t, client, sub))
		if strings.Contains(e.Reason+e.Error(), c.secret) || !strings.HasPrefix(e.Reason, "bad: ") {
			t.Errorf("%s: %v", c.path, e)
		}
	}
}

// percent escapes every byte.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteString("%" + string("0123456789abcdef"[text[i]>>4]) + string("0123456789abcdef"[text[i]&15]))
	}
	return b.String()
}

// The test program is also the sender that TestProxysOwnAddress starts.
func TestMain(m *testing.M) {
	if os.Getenv("WEBPUSH_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	if err := childProxy(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestProxysOwnAddress has the environment name a proxy on this machine, and a stranger name the
// same address in an endpoint. net/http reads the environment once, so it is another process that
// sends.
func TestProxysOwnAddress(t *testing.T) {
	var accepted atomic.Int32
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			conn.Close()
		}
	}()
	cmd := exec.Command(os.Args[0], listener.Addr().String())
	cmd.Env = append(os.Environ(), "WEBPUSH_TEST_CHILD=yes", "HTTPS_PROXY=http://"+listener.Addr().String(), "HTTP_PROXY=", "NO_PROXY=", "no_proxy=", "https_proxy=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// One connection is the proxy's, for push.example; of the endpoints that name its address there
	// is none.
	if text := string(out); strings.Count(text, ": invalid: ") != 2 || strings.Count(text, ": unreachable: ") != 1 || accepted.Load() != 1 {
		t.Errorf("%d connections:\n%s", accepted.Load(), text)
	}
}

// childProxy sends to push.example through the proxy, and to the proxy's address.
func childProxy(address string) error {
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return err
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		return err
	}
	client, err := webpush.NewClient(webpush.Config{Keys: ring, Subject: "mailto:ops@example.com", Retry: webpush.Retry{Attempts: 1}})
	if err != nil {
		return err
	}
	defer client.Close()
	browser, err := receiver.Generate()
	if err != nil {
		return err
	}
	for _, host := range []string{address, "push.example", address} { // before the proxy was used, and after
		text, err := browser.SubscriptionJSON("https://" + host + "/x")
		if err != nil {
			return err
		}
		sub, err := webpush.ParseSubscription(text)
		if err != nil {
			return err
		}
		_, err = client.Send(context.Background(), sub, nil, webpush.Options{})
		fmt.Printf("%s: %s: %v\n", host, webpush.Result{Err: err}.Outcome(), err)
	}
	return nil
}
