package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// TestPushBroadcast sends to browsers with every outcome, then resumes with the rest, and then with
// nothing left to send.
func TestPushBroadcast(t *testing.T) {
	service := pushtest.NewServer()
	defer service.Close()
	folder := t.TempDir()
	file := func(name string, text []byte) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	keys := filepath.Join(folder, "vapid.pem")
	public, err := push(t, service, "", "keys", "--keys", keys)
	if err != nil {
		t.Fatal(err)
	}
	var browsers []*pushtest.Browser
	var lines []byte
	for range 30 {
		b := service.Subscribe(strings.TrimSpace(public))
		browsers = append(browsers, b)
		lines = append(append(lines, b.JSON()...), '\n')
	}
	lines = append(lines, "{}\n"...)
	browsers[3].Unsubscribe()
	browsers[7].Inject(pushtest.Status(http.StatusTooManyRequests, "Retry-After", "3600"))
	browsers[8].Inject(pushtest.AcceptThenReset())
	subs, message := file("subs.ndjson", lines), file("news.txt", []byte("news"))
	broadcast := []string{"broadcast", subs, "--keys", keys, "--subject", "mailto:you@example.com", "--message", message}

	out, err := push(t, service, "", broadcast...)
	var status exitStatus
	if !errors.As(err, &status) || status != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"31 of 31: 27 accepted, 1 gone, 1 rate limited, 1 unreachable, 1 invalid", service.URL + ": 27 taken", "(no subscription): 0 taken, 1 not", "results: " + subs + ".results.ndjson"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if _, err := push(t, service, "", broadcast...); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the second broadcast: %v", err)
	}
	before := service.Requests()
	out, err = push(t, service, "", append(broadcast, "--resume")...)
	if !errors.As(err, &status) || status != 1 || service.Requests() != before+1 || !strings.Contains(out, "31 of 31: 28 accepted, 1 gone, 1 unreachable, 1 invalid") {
		t.Errorf("resumed: %v, %d requests: %s", err, service.Requests()-before, out)
	}
	for i, b := range browsers {
		want := 1
		if i == 3 {
			want = 0
		}
		if n := len(b.Messages()); n != want || n == 1 && string(b.Messages()[0].Data) != "news" {
			t.Errorf("browser %d got %d messages, want %d", i, n, want)
		}
	}

	for what, r := range map[string]struct {
		args []string
		want string
	}{
		"another message":  {append(broadcast[:6:6], "--message", keys, "--resume"), "another broadcast"},
		"no message":       {append(broadcast[:6:6], "--message", message+".none"), "no such file"},
		"no subscriptions": {[]string{"broadcast", subs + ".none", "--keys", keys, "--subject", "mailto:you@example.com", "--message", message}, "no such file"},
		"padding":          {append(broadcast, "--padding", "max"), "want none or fit"},
		"reuse":            {append(broadcast, "--reuse", "session"), "want strict or broadcast"},
		"subject":          {append(broadcast[:4:4], "--subject", "mailto:you@localhost", "--message", message), "localhost"},
	} {
		if _, err := push(t, service, "", r.args...); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", what, err, r.want)
		}
	}
}

// TestBroadcastProgress draws the progress of a resumed broadcast.
func TestBroadcastProgress(t *testing.T) {
	var screen bytes.Buffer
	clock := time.Unix(0, 0)
	p := newBroadcastProgress(&screen, 1000, map[webpush.Outcome]int64{webpush.Accepted: 100})
	p.now, p.began, p.live = func() time.Time { return clock }, clock, true
	for i := range 400 {
		clock = clock.Add(10 * time.Millisecond)
		r := webpush.Result{}
		if i%100 == 99 {
			r.Err = &webpush.SendError{Outcome: webpush.Deferred}
		}
		p.add(fmt.Sprintf("https://service%d.example", i%7%2), r)
	}
	p.redraw()
	want := []string{
		"████████████░░░░░░░░░░░░ 500 of 1000, 5s left",
		"496 accepted, 4 deferred",
		"      56/s  https://service0.example  228 taken, 1 not",
		"      41/s  https://service1.example  168 taken, 3 not",
	}
	if got := p.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("drew:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.open != 4 || p.failed() != 0 {
		t.Errorf("%d open, %d failed", p.open, p.failed())
	}
	screen.Reset()
	p.close()
	if got := screen.String(); got != "\x1b[4A\x1b[J" {
		t.Errorf("the end erases %q", got)
	}
	quiet := newBroadcastProgress(&screen, 10, nil)
	screen.Reset()
	for range 1000 {
		quiet.add("https://a.example", webpush.Result{})
	}
	quiet.close()
	if screen.Len() != 0 {
		t.Errorf("without a terminal it prints %q", screen.String())
	}
}
