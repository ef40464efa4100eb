package main

import (
	"bytes"
	"encoding/json"
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

// TestBroadcast sends to browsers with every outcome, then resumes with the rest, and then with
// nothing left to send.
func TestBroadcast(t *testing.T) {
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
	public, said, code := command(t, service, "", "keys", "--keys", keys)
	if code != 0 {
		t.Fatal(said)
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
	browsers[8].Inject(pushtest.AcceptThen(pushtest.Reset()))
	subs, message := file("subs.ndjson", lines), file("news.txt", []byte("news"))
	broadcast := []string{"broadcast", subs, "--keys", keys, "--subject", "mailto:you@example.com", "--message", message}

	out, said, code := command(t, service, "", broadcast...)
	if wants := []string{"subs.ndjson, line 31: ", "webpush: -resume sends again the 1 that were not taken and still may be\n"}; code != 1 || !strings.Contains(said, wants[0]) || !strings.HasSuffix(said, wants[1]) {
		t.Fatalf("%d: %s%s", code, said, out)
	}
	for _, want := range []string{"31 subscriptions: 27 accepted, 1 gone, 1 rate limited, 1 unreachable, 1 invalid", "results: " + subs + ".results.ndjson"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if _, said, code := command(t, service, "", broadcast...); code != 2 || !strings.Contains(said, "exists already\nhint: -resume continues it") {
		t.Errorf("the second broadcast: %d, %s", code, said)
	}
	before := service.Requests()
	out, said, code = command(t, service, "", append(broadcast, "--resume")...)
	if code != 1 || service.Requests() != before+1 || !strings.Contains(out, "31 subscriptions: 28 accepted, 1 gone, 1 unreachable, 1 invalid") {
		t.Errorf("resumed: %d, %d requests: %s%s", code, service.Requests()-before, said, out)
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
		"another message":   {append(broadcast[:6:6], "--message", keys, "--resume"), "not the journal of this broadcast"},
		"no message at all": {broadcast[:6:6], "-message is missing"},
		"no message":        {append(broadcast[:6:6], "--message", message+".none"), "no such file"},
		"no file":           {append([]string{"broadcast"}, broadcast[2:]...), "no file of subscriptions"},
		"no subscriptions":  {[]string{"broadcast", subs + ".none", "--keys", keys, "--subject", "mailto:you@example.com", "--message", message}, "no such file"},
		"subject":           {append(broadcast[:4:4], "--subject", "mailto:you@localhost", "--message", message), "localhost"},
	} {
		if _, said, code := command(t, service, "", r.args...); code != 2 || !strings.Contains(said, r.want) {
			t.Errorf("%s: %d, %s, want %q", what, code, said, r.want)
		}
	}
}

// What is listed twice is sent once, also by a broadcast that continues, and what has ended is
// listed in a file.
func TestTwiceAndGone(t *testing.T) {
	service := pushtest.NewServer()
	defer service.Close()
	b := newBroadcast(t, service, 30)
	b.browsers[4].Unsubscribe()
	b.browsers[5].Inject(pushtest.Status(http.StatusTooManyRequests, "Retry-After", "3600"))
	text, err := os.ReadFile(b.subs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.subs, append(text, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{b.args, 1, "30 subscriptions: 28 accepted, 1 gone, 1 rate limited\n"},
		{append(b.args, "-resume"), 0, "30 subscriptions: 29 accepted, 1 gone\n"},
	} {
		out, said, code := command(t, service, "", c.args...)
		if code != c.code || !strings.Contains(out, c.want) || !strings.Contains(out, "30 lines repeat another\n") {
			t.Errorf("%d: %s%s, want %q", code, said, out, c.want)
		}
	}
	b.check(t, 29)
	ended, err := os.ReadFile(b.subs + ".gone.txt")
	if err != nil || string(ended) != b.browsers[4].Endpoint()+"\n" {
		t.Errorf("the file of what has ended: %q, %v", ended, err)
	}
}

// TestForms has the list in each of the forms that a database exports.
func TestForms(t *testing.T) {
	service := pushtest.NewServer()
	defer service.Close()
	for name, write := range map[string]func(texts [][]byte) string{
		"lines, a BOM and blank lines": func(texts [][]byte) string {
			return "\ufeff" + string(bytes.Join(texts, []byte("\r\n\r\n"))) + "\n\n"
		},
		"encoded twice": func(texts [][]byte) (all string) {
			for _, text := range texts {
				all += fmt.Sprintf("%q\n", text)
			}
			return all
		},
		"an array": func(texts [][]byte) string { return " [\n" + string(bytes.Join(texts, []byte(",\n"))) + "]\n" },
		"objects": func(texts [][]byte) string {
			return `[{"subscription":` + string(bytes.Join(texts, []byte(`},{"id":7,"subscription":`))) + "}]"
		},
		"CSV of columns": func(texts [][]byte) string {
			all := "id,Endpoint,keys_p256dh,keys_auth\n"
			for i, text := range texts {
				var j struct {
					Endpoint string
					Keys     struct{ P256dh, Auth string }
				}
				if err := json.Unmarshal(text, &j); err != nil {
					t.Fatal(err)
				}
				all += fmt.Sprintf("%d,%s,%s,\"%s\"\n", i, j.Endpoint, j.Keys.P256dh, j.Keys.Auth)
			}
			return all
		},
		"CSV of JSON": func(texts [][]byte) string {
			all := "id,subscription\n"
			for i, text := range texts {
				all += fmt.Sprintf("%d,\"%s\"\n", i, strings.ReplaceAll(string(text), `"`, `""`))
			}
			return all
		},
	} {
		b := newBroadcast(t, service, 5)
		var texts [][]byte
		for _, browser := range b.browsers {
			texts = append(texts, browser.JSON())
		}
		text := write(texts)
		if err := os.WriteFile(b.subs, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, said, code := command(t, service, "", b.args...); code != 0 || !strings.Contains(out, "5 subscriptions: 5 accepted\n") {
			t.Errorf("%s: %d: %s%s", name, code, said, out)
		}
		b.check(t, 5)
		results := b.subs + ".stdin"
		if out, said, code := command(t, service, text, append(append(b.args[:1:1], "-", "-results", results), b.args[2:]...)...); code != 0 || !strings.Contains(out, "5 subscriptions: 5 accepted\n") {
			t.Errorf("%s, on standard input: %d: %s%s", name, code, said, out)
		}
	}
	b := newBroadcast(t, service, 2)
	long := fmt.Sprintf("%s\n%s\n%s\n", b.browsers[0].JSON(), strings.Repeat("x", 2<<20), b.browsers[1].JSON())
	if err := os.WriteFile(b.subs, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, said, code := command(t, service, "", b.args...); code != 1 || !strings.Contains(said, "line 2: longer than") || !strings.Contains(out, "3 subscriptions: 2 accepted, 1 invalid\n") {
		t.Errorf("a long line: %d: %s%s", code, said, out)
	}
	b.check(t, 2)
}

// A testBroadcast is the files and browsers of a broadcast.
type testBroadcast struct {
	browsers []*pushtest.Browser
	subs     string   // the file
	args     []string // of the command
}

func newBroadcast(t *testing.T, service *pushtest.Server, n int) (b testBroadcast) {
	t.Helper()
	folder := t.TempDir()
	keys, message := filepath.Join(folder, "vapid.pem"), filepath.Join(folder, "news.txt")
	public, said, code := command(t, service, "", "keys", "-keys", keys)
	if code != 0 {
		t.Fatal(said)
	}
	var lines []byte
	for range n {
		browser := service.Subscribe(strings.TrimSpace(public))
		b.browsers = append(b.browsers, browser)
		lines = append(append(lines, browser.JSON()...), '\n')
	}
	b.subs = filepath.Join(folder, "subs.ndjson")
	if err := errors.Join(os.WriteFile(b.subs, lines, 0o600), os.WriteFile(message, []byte("news"), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.args = []string{"broadcast", b.subs, "-keys", keys, "-subject", "mailto:you@example.com", "-message", message}
	return b
}

// check asks that so many browsers have got one message, and none two.
func (b testBroadcast) check(t *testing.T, want int) {
	t.Helper()
	got := 0
	for i, browser := range b.browsers {
		n := len(browser.Messages())
		if got += n; n > 1 {
			t.Errorf("browser %d got %d messages", i, n)
		}
	}
	if got != want {
		t.Errorf("%d of %d browsers got the message", got, want)
	}
}

// TestBroadcastProgress draws the progress of a resumed broadcast in one line, and removes it.
func TestBroadcastProgress(t *testing.T) {
	var screen bytes.Buffer
	p := newProgress(&screen, map[webpush.Outcome]int64{webpush.Accepted: 100})
	add := func(from, to int) {
		for i := from; i < to; i++ {
			r := webpush.Result{}
			if i%100 == 99 {
				r.Err = &webpush.SendError{Outcome: webpush.Deferred}
			}
			p.add(r)
		}
	}
	if add(0, 400); screen.Len() > 0 {
		t.Errorf("without a terminal it draws %q", screen.String())
	}
	p.screen = &screen
	add(400, 401)
	if got := screen.String(); !strings.HasPrefix(got, "\r\x1b[K501 subscriptions: 497 accepted, 4 deferred, ") || strings.Contains(got, "\n") {
		t.Errorf("drew %q", got)
	}
	if p.open != 4 || p.failed() != 0 {
		t.Errorf("%d open, %d failed", p.open, p.failed())
	}
	screen.Reset()
	p.erase()
	p.drawn = time.Time{}
	if add(0, 1); screen.String() != "\r\x1b[K" {
		t.Errorf("the end draws %q", screen.String())
	}
}
