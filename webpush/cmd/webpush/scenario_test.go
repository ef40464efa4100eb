package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postage/webpush/receiver"
)

// services are four push services in a bubble of synctest. Each answers after 300 ms.
type services struct {
	mu       sync.Mutex
	begun    time.Time
	key      string // that the subscriptions of wrongkey.example were made with
	accepted map[string]int
	requests int
}

// isEnded reports whether a browser has unsubscribed: one of fifty.
func isEnded(path string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
	return err == nil && n%50 == 7
}

func (s *services) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(300 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	header, at := http.Header{}, time.Since(s.begun)
	status := http.StatusCreated
	switch {
	case r.URL.Host == "wrongkey.example" && !strings.HasSuffix(r.Header.Get("Authorization"), "k="+s.key):
		status = http.StatusForbidden
	case r.URL.Host == "goneforaminute.example" && at > 5*time.Second && at < 65*time.Second:
		status = http.StatusNotFound
	case r.URL.Host == "overloaded.example" && at < 100*time.Second:
		status = http.StatusServiceUnavailable
		header.Set("Retry-After", "120")
	case isEnded(r.URL.Path):
		status = http.StatusGone
	default:
		s.accepted[r.URL.String()]++
	}
	return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}, nil
}

// TestFourServices broadcasts over a service for which the key is wrong, one that calls everybody
// gone for a minute, one that asks for 120 s, and one that is well. The broadcast is stopped,
// resumed, stopped, and resumed with the right key: nobody is lost, nobody gets two, and only
// those are listed as gone that are.
func TestFourServices(t *testing.T) {
	hosts := []string{"wrongkey.example", "goneforaminute.example", "overloaded.example", "well.example"}
	each := 1000
	if os.Getenv("POSTAGE_LONG") != "" {
		each = 12_500
	}
	synctest.Test(t, func(t *testing.T) {
		s := &services{begun: time.Now(), accepted: make(map[string]int)}
		folder := t.TempDir()
		run := func(ctx context.Context, args ...string) (out, said string, code int) {
			var stdout, stderr bytes.Buffer
			p := program{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, transport: s}
			code = p.run(ctx, args)
			return stdout.String(), stderr.String(), code
		}
		wrong, right := filepath.Join(folder, "wrong.pem"), filepath.Join(folder, "right.pem")
		if _, said, code := run(t.Context(), "keys", "-keys", wrong); code != 0 {
			t.Fatal(said)
		}
		public, said, code := run(t.Context(), "keys", "-keys", right)
		if code != 0 {
			t.Fatal(said)
		}
		s.key = strings.TrimSpace(public)
		r, err := receiver.Generate()
		if err != nil {
			t.Fatal(err)
		}
		var lines []byte
		var want, ended []string
		for n := range each {
			for _, host := range hosts {
				endpoint := fmt.Sprintf("https://%s/%d", host, n)
				line, err := r.SubscriptionJSON(endpoint)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(append(lines, line...), '\n')
				if isEnded(fmt.Sprintf("/%d", n)) {
					ended = append(ended, endpoint)
				} else {
					want = append(want, endpoint)
				}
			}
		}
		subs, message := filepath.Join(folder, "subs.ndjson"), filepath.Join(folder, "news.txt")
		for name, text := range map[string][]byte{subs: lines, message: []byte("news")} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range []struct {
			key  string
			stop time.Duration // 0 for never
		}{{wrong, 4 * time.Second}, {wrong, 20 * time.Second}, {right, 0}} {
			ctx, cancel := context.WithCancel(t.Context())
			if step.stop > 0 {
				time.AfterFunc(step.stop, cancel)
			}
			args := []string{"broadcast", subs, "-keys", step.key, "-subject", "mailto:you@example.com", "-message", message}
			if i > 0 {
				args = append(args, "-resume")
			}
			out, said, code := run(ctx, args...)
			cancel()
			t.Logf("run %d, at %s, after %d requests: exit %d: %s%s", i+1, time.Since(s.begun), s.requests, code, said, out)
			if wantCode := map[bool]int{true: exitInterrupted, false: 0}[step.stop > 0]; code != wantCode {
				t.Errorf("exit code %d, want %d", code, wantCode)
			}
			if step.key == wrong && !strings.Contains(said, "wrongkey.example") {
				t.Error("nothing is said of the wrong key")
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(s.accepted)); !slices.Equal(got, want) {
			t.Errorf("%d got the message, want %d", len(got), len(want))
		}
		for endpoint, n := range s.accepted {
			if n > 1 {
				t.Errorf("%s got %d messages", endpoint, n)
			}
		}
		text, err := os.ReadFile(subs + ".gone.txt")
		listed := strings.Fields(string(text))
		slices.Sort(listed)
		slices.Sort(ended)
		if err != nil || !slices.Equal(listed, ended) {
			t.Errorf("%d are listed as gone, want %d: %v", len(listed), len(ended), err)
		}
	})
}
