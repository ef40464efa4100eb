package webpush

import (
	"net/http"
	"testing"
	"time"
)

func TestTTLHeader(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		0: "2419200", TTLZero: "0", 1: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60", maxTTL: "2147483647",
		maxTTL + 1: "", -2: "", -time.Second: "",
	} {
		if got, err := ttlHeader(ttl); got != want || (err == nil) != (want != "") {
			t.Errorf("%d: %q, %v, want %q", ttl, got, err, want)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second,
		"99999999999999999999":                            maxDelaySeconds * time.Second,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		"Monday, 04-May-26 03:03:01 GMT":                  time.Minute,
		"Mon May  4 03:03:01 2026":                        time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT":                   maxDelaySeconds * time.Second,
		"":                                                -1, "soon": -1, "-5": -1, "1.5": -1, "0x10": -1, "+3": -1,
	} {
		got, ok := parseRetryAfter(value, now)
		if ok != (want >= 0) || (ok && got != want) {
			t.Errorf("%q: %s, %v, want %s", value, got, ok, want)
		}
	}
}

func TestRetryWait(t *testing.T) {
	r, err := Retry{Attempts: 6, Base: 100 * time.Millisecond, Max: time.Second, MaxRetryAfter: time.Minute}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		for attempts, most := range map[int]time.Duration{1: 100, 2: 200, 3: 400, 4: 800, 5: 1000} {
			most *= time.Millisecond
			if wait, ok := r.wait(attempts, &answer{}, r.MaxRetryAfter); !ok || wait < most/2 || wait > most {
				t.Fatalf("after %d attempts: %s, want %s to %s", attempts, wait, most/2, most)
			}
		}
		if wait, ok := r.wait(1, &answer{hasRetryAfter: true, retryAfter: 3 * time.Second}, r.MaxRetryAfter); !ok || wait < 3*time.Second || wait > 3100*time.Millisecond {
			t.Fatalf("asked for 3s: %s, %v", wait, ok)
		}
	}
	if _, ok := r.wait(6, &answer{}, r.MaxRetryAfter); ok {
		t.Error("a seventh attempt")
	}
	if _, ok := r.wait(1, &answer{hasRetryAfter: true, retryAfter: 2 * time.Minute}, r.MaxRetryAfter); ok {
		t.Error("waits longer than MaxRetryAfter")
	}
	huge, err := Retry{Attempts: 100, Base: 10 * time.Hour, Max: 20 * time.Hour}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if wait, ok := huge.wait(90, &answer{}, huge.MaxRetryAfter); !ok || wait <= 0 || wait > 20*time.Hour {
		t.Errorf("overflow: %s", wait)
	}
	if _, err := (Retry{Base: -1}).withDefaults(); err == nil {
		t.Error("a negative wait")
	}
}
