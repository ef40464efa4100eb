package load

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Replay has requests of a log, and their times.
type Replay struct {
	Requests []Request
	// Dues are the times at which they are due, counted from the first.
	Dues []time.Duration
	// LeftOut is how many entries are no requests, went to other servers, or had a body that is not
	// in the file.
	LeftOut int
	// Bodyless is how many had a body, which an access log does not keep.
	Bodyless int
	entries  []entry
}

// An entry is a request of a log, with its time.
type entry struct {
	at      time.Time
	request Request
}

// mostReplayed is the most requests that are replayed: each takes about 1 KB.
const mostReplayed = 500_000

// ReadReplay reads an access log (the combined and common formats of nginx and Apache) or a HAR file.
// Requests go to base. For a HAR file base may be nil; they then go to the server of the first entry.
// They are sent speed times as fast as they once were.
func ReadReplay(path string, base *url.URL, speed float64) (*Replay, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Replay)
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		err = r.readHAR(text, base)
	} else {
		err = r.readLines(text, base)
	}
	if err == nil && len(r.entries) == 0 {
		err = errors.New("it has no requests")
	}
	if err == nil && len(r.entries) > mostReplayed {
		err = fmt.Errorf("it has %d requests: cut it to at most %d", len(r.entries), mostReplayed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.schedule(speed)
	return r, nil
}

// Pacer returns the times of a plan, which lasts until one more request would be due.
func (r *Replay) Pacer() Times {
	n := len(r.Dues)
	if n < 2 || r.Dues[n-1] == 0 {
		return Times{r.Dues, time.Second}
	}
	return Times{r.Dues, r.Dues[n-1] + max(1, r.Dues[n-1]/time.Duration(n-1))}
}

// schedule orders requests by time. Most logs have whole seconds. It spreads the requests of a second
// evenly over it; otherwise all would be due at its beginning.
func (r *Replay) schedule(speed float64) {
	slices.SortStableFunc(r.entries, func(a, b entry) int { return a.at.Compare(b.at) })
	whole := true
	for _, e := range r.entries {
		r.Requests = append(r.Requests, e.request)
		r.Dues = append(r.Dues, e.at.Sub(r.entries[0].at))
		whole = whole && e.at.Nanosecond() == 0
	}
	for i := 0; i < len(r.Dues) && whole; {
		n := 1
		for i+n < len(r.Dues) && r.Dues[i+n] == r.Dues[i] {
			n++
		}
		for j := range n {
			r.Dues[i+j] += time.Duration(j) * time.Second / time.Duration(n)
		}
		i += n
	}
	for i := range r.Dues {
		r.Dues[i] = time.Duration(float64(r.Dues[i]) / speed)
	}
}

// add adds a request to a path of base, and returns it; nil if the entry is none.
func (r *Replay) add(at time.Time, method, target string, base *url.URL) *Request {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(u.Path, "/") || !token.MatchString(method) || method == http.MethodConnect {
		r.LeftOut++
		return nil
	}
	u.Scheme, u.Host, u.User = base.Scheme, base.Host, base.User
	r.entries = append(r.entries, entry{at, Request{Method: method, URL: u, Header: http.Header{}}})
	return &r.entries[len(r.entries)-1].request
}

var token = regexp.MustCompile("^[A-Z]+$")

// readLines reads a log of lines. A line without a time is an error. Servers log a line without a
// request for clients that speak another protocol.
func (r *Replay) readLines(text []byte, base *url.URL) error {
	if base == nil {
		return errors.New("an access log does not name its server: give a URL")
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		at, method, target, err := fromCombined(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, method) {
			r.Bodyless++
		}
		r.add(at, method, target, base)
	}
	return nil
}

var combined = regexp.MustCompile(`\[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "(?:([A-Z]+) (\S+)[^"]*)?`)

func fromCombined(line []byte) (at time.Time, method, target string, err error) {
	m := combined.FindSubmatch(line)
	if m == nil {
		return at, "", "", errors.New(`want the combined log format, such as … [02/Jan/2026:15:04:05 +0000] "GET / HTTP/1.1" …, or a HAR file`)
	}
	at, err = time.Parse("02/Jan/2006:15:04:05 -0700", string(m[1]))
	return at, string(m[2]), string(m[3]), err
}

// A harEntry is an exchange, http://www.softwareishard.com/blog/har-12-spec/#entries.
type harEntry struct {
	StartedDateTime time.Time
	Request         struct {
		Method, URL string
		Headers     []struct{ Name, Value string }
		PostData    struct {
			Text, MimeType string
			Params         []struct{ Name, Value string }
		}
	}
}

// body returns the body that an entry was sent with. It is not known where the file has a form's
// parts instead, unless the form is encoded as a URL.
func (e *harEntry) body() (body []byte, known bool) {
	data := &e.Request.PostData
	if data.Text != "" || len(data.Params) == 0 {
		return []byte(data.Text), true
	}
	var pairs []string
	for _, p := range data.Params {
		pairs = append(pairs, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
	}
	return []byte(strings.Join(pairs, "&")), strings.HasPrefix(data.MimeType, "application/x-www-form-urlencoded")
}

func (r *Replay) readHAR(text []byte, base *url.URL) error {
	var har struct{ Log struct{ Entries []harEntry } }
	if err := json.Unmarshal(text, &har); err != nil {
		return fmt.Errorf("want a HAR file, or an access log in the combined format: %w", err)
	}
	host := ""
	for i, entry := range har.Log.Entries {
		u, err := url.Parse(entry.Request.URL)
		other := err != nil || u.Scheme != "http" && u.Scheme != "https"
		if !other && host == "" {
			host, base = u.Host, cmp.Or(base, u)
		}
		if other || u.Host != host {
			r.LeftOut++
			continue
		}
		body, known := entry.body()
		if !known {
			r.LeftOut++
			continue
		}
		if entry.StartedDateTime.IsZero() {
			return fmt.Errorf("entry %d has no startedDateTime", i+1)
		}
		request := r.add(entry.StartedDateTime, entry.Request.Method, u.RequestURI(), base)
		if request == nil {
			continue
		}
		for _, h := range entry.Request.Headers {
			switch strings.ToLower(h.Name) {
			case "host", "connection", "content-length", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade":
				continue // of that connection, or made anew
			}
			if !strings.HasPrefix(h.Name, ":") {
				request.Header.Add(h.Name, h.Value)
			}
		}
		if kind := entry.Request.PostData.MimeType; kind != "" && request.Header.Get("Content-Type") == "" {
			request.Header.Set("Content-Type", kind)
		}
		request.Body = body
	}
	return nil
}
