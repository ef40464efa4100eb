package load

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// file writes a file for a test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Requests of a file are sent in turn, with values filled in, by HTTP/1.1 and HTTP/2.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http1", "http2"} {
		t.Run(proto, func(t *testing.T) {
			got := map[string]int{}
			var mu sync.Mutex
			server := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				got[fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Who"), body)]++
			}))
			body := file(t, "body.json", `{"name":"{{name}}"}`)
			text := fmt.Sprintf("# two requests\nGET %[1]s/users/{{id}}?q={{name}}\nX-Who: {{ name }}\n\nPOST %[1]s/users\n@%[2]s\n", server.URL, body)
			requests, err := ReadTargets(file(t, "targets", text))
			if err != nil {
				t.Fatal(err)
			}
			all, _, _, err := FillIn(requests, file(t, "values", "id,name\n1,Ann\n2,\"Bo & Co\"\n"))
			if err != nil {
				t.Fatal(err)
			}
			pool := opened(t, &Target{Proto: proto, Conns: 2, Streams: 3, Requests: all})
			r, err := Run(t.Context(), Plan{Pacer: Constant{200, 200 * time.Millisecond}, Lines: pool.Lines})
			if err != nil || r.Done != 40 || r.Failed() > 0 {
				t.Fatalf("%v, %d, %v", err, r.Done, r.Errors)
			}
			mu.Lock() // the loop's sockets order nothing for the race detector
			defer mu.Unlock()
			for _, want := range []string{
				`GET /users/1?q=Ann Ann `, `POST /users  {"name":"Ann"}`, `GET /users/2?q=Bo+%26+Co Bo & Co `, `POST /users  {"name":"Bo & Co"}`,
			} {
				if got[want] != 10 {
					t.Errorf("%d of %q, want 10", got[want], want)
				}
			}
			if len(got) != 4 {
				t.Errorf("the server got %v", got)
			}
		})
	}
}

// An error names the place in the file.
func TestTargetsErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "has no request",
		"GET /x":                       ":1: want a method and a URL",
		"GET http://h/\nX":             `:2: "X": want name: value`,
		"GET http://h/\nno field: x\n": "targets:2: ", "GET http://h/\nget http://h/\n": "targets:2: ", "\nPUT h/\n": "targets:2: ",
		"GET http://h/\n@missing": ":2: open ",
	} {
		if _, err := ReadTargets(file(t, "targets", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"a,b\n1\n":   "wrong number of fields",
		"a,b\n":      "has no row",
		"":           "has no row",
		"a,b\n1,2\n": `row 1 of the values has no "c"; it has a, b`,
	} {
		if _, _, _, err := FillIn([]Request{{URL: parsed(t, "http://h/{{c}}")}}, file(t, "values", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, err := Open(t.Context(), &Target{Proto: "http1", Conns: 1, Streams: 1, Requests: []Request{{URL: parsed(t, "http://a/")}, {URL: parsed(t, "http://b/")}}})
	if err == nil || !strings.Contains(err.Error(), "all must go to one server") {
		t.Error(err)
	}
}

// A line may be of any length: a header field of targets, an entry of a log.
func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 2<<20)
	if r, err := ReadTargets(file(t, "targets", "GET http://h/\nCookie: "+long)); err != nil || len(r) != 1 || r[0].Header.Get("Cookie") != long {
		t.Errorf("%d targets, %v", len(r), err)
	}
	if r, err := ReadReplay(file(t, "log", strings.TrimSpace(accessLog)+long), parsed(t, "http://h"), 1); err != nil || len(r.Requests) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Of a long file as many rows are used as fit.
func TestManyValues(t *testing.T) {
	t.Parallel()
	values := file(t, "values", "id\n"+strings.Repeat("7\n", 3000))
	large := []Request{{URL: parsed(t, "http://h/?id={{id}}"), Body: make([]byte, 200_000)}}
	out, rows, left, err := FillIn(large, values)
	if err != nil || !left || rows < 1000 || rows > 1400 || len(out) != rows || out[rows-1].URL.RawQuery != "id=7" {
		t.Errorf("%d rows, %d requests, %t, %v", rows, len(out), left, err)
	}
	large[0].Body = nil
	if _, rows, left, err := FillIn(large, values); err != nil || left || rows != 3000 {
		t.Errorf("%d rows, %t, %v", rows, left, err)
	}
}

// A value stays a value of JSON, whatever characters it has.
func TestValuesInJSON(t *testing.T) {
	t.Parallel()
	values := file(t, "values", "name,n\n\"12\"\" disc \\ <b>\",5\n")
	for body, want := range map[string]string{
		`{"name":"{{name}}","n":{{n}}}`: `{"name":"12\" disc \\ <b>","n":5}`,
		`name={{name}}`:                 `name=12" disc \ <b>`,
	} {
		out, _, _, err := FillIn([]Request{{URL: parsed(t, "http://h/"), Body: []byte(body)}}, values)
		if err != nil || string(out[0].Body) != want {
			t.Errorf("%v: %s, want %s", err, out[0].Body, want)
		}
	}
}

// A socket's path may be relative.
func TestSocketPath(t *testing.T) {
	for address, want := range map[string]string{"./s": "unix", "run/s": "unix", "/run/s": "unix", "127.0.0.1:80": "tcp", "": "tcp"} {
		if got, _, _ := (&Target{ConnectTo: address, Request: Request{URL: parsed(t, "http://127.0.0.1/")}}).addresses(t.Context()); got != want {
			t.Errorf("%q: %s", address, got)
		}
	}
}

// Events may end their lines with CR alone.
func TestEventLines(t *testing.T) {
	l := eventLines{in: bufio.NewReader(strings.NewReader("data: 1\r\rdata: 2\r\n\r\ndata: 3\n\n"))}
	var got []string
	for line, err := l.next(); err == nil; line, err = l.next() {
		got = append(got, line)
	}
	if want := []string{"data: 1", "", "data: 2", "", "data: 3", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
