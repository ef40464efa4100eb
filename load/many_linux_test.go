package load

import (
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"postage/internal/service/greeter"
)

// 10,000 connections at 20,000 requests a second: on time, and at most 40 KB each.
func TestManyConnections(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("wants a machine with nothing else to do: POSTAGE_LONG=hours")
	}
	const conns = 10_000
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur < conns+200 {
		t.Skipf("%d files may be open, want %d: ulimit -n", files.Cur, conns+200)
	}
	server := greet(t, greeter.Config{Server: "nethttp", Body: "json"})
	before := inUse()
	pool := opened(t, &Target{Proto: "http1", Conns: conns, Streams: 1, Timeout: time.Minute, Request: Request{
		Method: http.MethodPost, Body: []byte(`{"secure":"raw"}`), URL: &url.URL{Scheme: "http", Host: server.Addr, Path: "/"},
	}})
	var during uint64
	// The first run makes the connections, which takes the server time too.
	for _, seconds := range []int{2, 10} {
		r, err := Run(t.Context(), Plan{Pacer: Constant{20_000, time.Duration(seconds) * time.Second}, Lines: pool.Lines})
		if err != nil || r.Failed() > 0 || r.Done != int64(20_000*seconds) {
			t.Fatalf("%v, %d answered, %v", err, r.Done, r.Errors)
		}
		during = inUse()
		least := time.Duration(r.Least.ValueAtQuantile(99))
		t.Logf("%ds: %.0f/s, p99 between %v and %v, %.0f%% busy", seconds, r.Achieved, least, time.Duration(r.Latency.ValueAtQuantile(99)), 100*r.Busy())
		if why := r.Invalid() + r.Shortfall(); seconds > 2 && why != "" {
			t.Error(why)
		}
	}
	each := (float64(during) - float64(before)) / conns
	t.Logf("%.1f KB a connection", each/1024)
	if each > 40<<10 {
		t.Errorf("%.1f KB a connection, want 40 at most", each/1024)
	}
}
