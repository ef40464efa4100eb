package load

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const accessLog = `127.0.0.1 - - [22/Nov/2026:06:00:01 +0000] "GET /a?x=1 HTTP/1.1" 200 612 "-" "curl/8.0"
10.0.0.7 - ann [22/Nov/2026:06:00:00 +0000] "POST /first HTTP/1.1" 201 0 "http://h/" "Mozilla/5.0 \"x\" [22]"
127.0.0.1 - - [22/Nov/2026:07:00:01 +0100] "GET /b HTTP/2.0" 304 0
127.0.0.1 - - [22/Nov/2026:06:00:01 +0000] "\x16\x03\x01" 400 157 "-" "-"
127.0.0.1 - - [22/Nov/2026:06:00:01 +0000] "" 400 0 "-" "-"
127.0.0.1 - - [22/Nov/2026:06:00:03 +0000] "DELETE http://h/c HTTP/1.1" 204 0 "-" "-"
`

// Every kind of log has the same requests at the same times.
func TestReadReplay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, dues string
		leftOut    int
	}{
		"combined": {accessLog, "[0s 1s 1.5s 3s]", 2},
		"HAR": {`{"log":{"version":"1.2","entries":[
{"startedDateTime":"2026-11-22T06:00:00.000Z","request":{"method":"POST","url":"https://h/first","headers":[{"name":":path","value":"/first"},{"name":"Connection","value":"close"},{"name":"X-Who","value":"Ann"}],"postData":{"mimeType":"text/plain","text":"body"}}},
{"startedDateTime":"2026-11-22T06:00:00.100Z","request":{"method":"GET","url":"https://elsewhere/x.js","headers":[]}},
{"startedDateTime":"2026-11-22T06:00:01.250Z","request":{"method":"GET","url":"https://h/a?x=1","headers":[]}},
{"startedDateTime":"2026-11-22T07:00:01.500+01:00","request":{"method":"GET","url":"https://h/b","headers":[]}},
{"startedDateTime":"2026-11-22T06:00:03Z","request":{"method":"DELETE","url":"https://h/c","headers":[]}}]}}`, "[0s 1.25s 1.5s 3s]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "log", c.text)
			r, err := ReadReplay(path, parsed(t, "http://127.0.0.1:8080"), 1)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range r.Requests {
				got = append(got, q.Method+" "+q.URL.String())
			}
			want := "POST http://127.0.0.1:8080/first, GET http://127.0.0.1:8080/a?x=1, GET http://127.0.0.1:8080/b, DELETE http://127.0.0.1:8080/c"
			if strings.Join(got, ", ") != want || fmt.Sprint(r.Dues) != c.dues || r.LeftOut != c.leftOut {
				t.Errorf("%v\n%v, %d left out", got, r.Dues, r.LeftOut)
			}
			if _, lasts := r.Pacer().Span(); lasts != 4*time.Second {
				t.Error(lasts)
			}
			if name == "HAR" {
				if h := r.Requests[0].Header; len(h) != 2 || h.Get("X-Who") != "Ann" || h.Get("Content-Type") != "text/plain" || string(r.Requests[0].Body) != "body" {
					t.Errorf("%v, %s", h, r.Requests[0].Body)
				}
				if r, err := ReadReplay(path, nil, 1); err != nil || r.Requests[0].URL.String() != "https://h/first" {
					t.Errorf("%v, %v", r, err)
				}
			}
			if r, err := ReadReplay(path, parsed(t, "http://h"), 4); err != nil || r.Dues[3] != 750*time.Millisecond {
				t.Errorf("%v, %v", r.Dues, err)
			}
		})
	}
}

func TestReadReplayErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "it has no request",
		"GET /":                        "line 1: want the combined log format",
		`{"ts":1}` + "\n" + `{"ts":2}`: "want a HAR file, or an access log in the combined format",
		`{"ts":1,"method":"GET"}`:      "it has no request",
		`{"log":{"entries":[]}}`:       "it has no request",
		`{"log":{"entries":[{"request":{"url":"http://h/"}}]}}`: "entry 1 has no startedDateTime",
	} {
		if _, err := ReadReplay(file(t, "log", text), parsed(t, "http://h"), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadReplay(file(t, "log", accessLog), nil, 1); err == nil || !strings.Contains(err.Error(), "give a URL") {
		t.Error(err)
	}
}

// A log is replayed in order and at its times, here ten times as fast.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http1", "http2"} {
		var mu sync.Mutex
		var got []string
		server := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.Method+" "+r.RequestURI+string(body))
		}))
		replay, err := ReadReplay(file(t, "log", accessLog), parsed(t, server.URL), 10)
		if err != nil {
			t.Fatal(err)
		}
		pool := opened(t, &Target{Proto: proto, Conns: 1, Streams: 1, Requests: replay.Requests})
		r, err := Run(t.Context(), Plan{Pacer: replay.Pacer(), Lines: pool.Lines})
		if err != nil || r.Failed() > 0 || r.Planned != 4 {
			t.Fatalf("%v, %+v", err, r)
		}
		mu.Lock() // the loop's sockets order nothing for the race detector
		text := strings.Join(got, ", ")
		mu.Unlock()
		if text != "POST /first, GET /a?x=1, GET /b, DELETE /c" {
			t.Error(text)
		}
		if r.Elapsed < 300*time.Millisecond {
			t.Errorf("it took %v", r.Elapsed)
		}
	}
	if _, err := Run(t.Context(), Plan{Pacer: Times{[]time.Duration{2 * time.Second}, time.Second}, Lines: lines(senderFunc(nil))}); err == nil {
		t.Error("a request is due after the end")
	}
}

// A form of a HAR file is sent as it was, and what a file does not have the body of is left out.
func TestReplayBodies(t *testing.T) {
	t.Parallel()
	entry := `{"startedDateTime":"2026-01-02T03:04:05Z","request":{"method":"POST","url":"http://h/form","headers":[],"postData":{"mimeType":%q,"params":[{"name":"a b","value":"1&2"},{"name":"c","value":"3"}]}}}`
	har := fmt.Sprintf(`{"log":{"entries":[`+entry+","+entry+`]}}`, "application/x-www-form-urlencoded; charset=UTF-8", "multipart/form-data; boundary=x")
	r, err := ReadReplay(file(t, "har", har), nil, 1)
	if err != nil || len(r.Requests) != 1 || r.LeftOut != 1 || string(r.Requests[0].Body) != "a+b=1%262&c=3" {
		t.Errorf("%v, %+v", err, r)
	}
	log := `- - - [22/Nov/2026:06:00:00 +0000] "GET / HTTP/1.1" 200 1` + "\n" + `- - - [22/Nov/2026:06:00:01 +0000] "POST /order HTTP/1.1" 201 1` + "\n"
	r, err = ReadReplay(file(t, "log", log), parsed(t, "http://h/"), 1)
	if err != nil || len(r.Requests) != 2 || r.Bodyless != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}
