package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postage/internal/service/greeter"
	"postage/internal/service/tlscert"
	"postage/internal/sys/proc"
)

// The test program is its own server, as postage is. Tests mostly wait for requests that are due,
// so many run side by side, however few processors there are.
func TestMain(m *testing.M) {
	proc.ServeIfStarted(map[string]proc.Server{greeter.Name: greeter.Serve})
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// lines makes a line of each sender.
func lines(senders ...senderFunc) []Line {
	var out []Line
	for _, s := range senders {
		out = append(out, s)
	}
	return out
}

// once sends one request and returns its result.
func once(pool *Pool) error {
	r, err := Run(context.Background(), Plan{Pacer: Constant{100, 10 * time.Millisecond}, Lines: pool.Lines})
	if err != nil {
		return err
	}
	for why, n := range r.Errors {
		return fmt.Errorf("%s (%d of %d)", why, n, r.Done)
	}
	if r.Done != 1 {
		return fmt.Errorf("%d requests, want 1", r.Done)
	}
	return nil
}

type senderFunc func(ctx context.Context) error

func (senderFunc) Connect(context.Context) error { return nil }

func (f senderFunc) Serve(ctx context.Context, w *Work) {
	serve(w, func() outcome { return outcome{err: f(ctx)} })
}

// A server stalls for the first 200 ms of every second. It is charged for all requests that were
// due meanwhile: at a constant rate a fifth of them wait, evenly between 0 and 200 ms, so that the
// p90 is 100 ms. Counted from the sending, only one request a sender and second would wait.
func TestStandstillIsNotHidden(t *testing.T) { bubble(t, testStandstillIsNotHidden) }

func testStandstillIsNotHidden(t *testing.T) {
	start := time.Now()
	var gate sync.RWMutex
	server := senderFunc(func(context.Context) error {
		gate.RLock()
		defer gate.RUnlock()
		if since := time.Since(start) % time.Second; since < 200*time.Millisecond {
			time.Sleep(200*time.Millisecond - since)
		}
		return nil
	})
	start = time.Now()
	r := measured(t, Plan{Pacer: Constant{1000, 2 * time.Second}, Lines: lines(server, server, server, server)})
	if r.Done != 2000 || r.Failed() != 0 {
		t.Errorf("%d requests, %d failed, want 2000 and 0", r.Done, r.Failed())
	}
	p90 := time.Duration(r.Latency.ValueAtQuantile(90))
	if p90 < 99*time.Millisecond || p90 > 101*time.Millisecond {
		t.Errorf("p90 is %v, want 100ms", p90)
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	r, err := Run(ctx, Plan{Pacer: Constant{200, time.Hour}, Lines: lines(senderFunc(func(context.Context) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	}))})
	if err != nil {
		t.Fatal(err)
	}
	// The tenth has a second for its answer.
	if !r.Interrupted || r.Done < 9 || r.Done > 10 {
		t.Errorf("interrupted %v, %d requests, want 10", r.Interrupted, r.Done)
	}
	if r.Achieved > 1.001*r.Rate {
		t.Errorf("%.1f requests a second were achieved of %.1f", r.Achieved, r.Rate)
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "interrupted") {
		t.Errorf("%v, %q", err, table.String())
	}
}

func TestInvalidLatenciesAreNotPrinted(t *testing.T) {
	t.Parallel()
	r := &Result{Rate: 100, Achieved: 100, Counts: newCounts(), Use: Use{Elapsed: time.Second, Processors: 2, CPU: 1900 * time.Millisecond}}
	for range 100 {
		record(r.Latency, 10*time.Millisecond)
		record(r.Least, 10*time.Millisecond)
		r.Done++
	}
	check := func(want string) {
		t.Helper()
		if got := r.Invalid(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("invalid: %q, want %q", got, want)
		}
		var table bytes.Buffer
		if err := r.WriteTable(&table); err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(table.String(), "p99"); shown != (want == "") {
			t.Errorf("percentiles are shown: %v\n%s", shown, table.String())
		}
	}
	check("processors were 95% busy")
	r.CPU = time.Second
	check("")
	r.Account.Limits["no local port is free"] = 3
	check("3 requests were not sent, as no local port is free")
}

// The search finds the highest rate that a server of known capacity can take. The sender alone sets
// that capacity, since nothing is sent.
func TestSearch(t *testing.T) { bubble(t, testSearch) }

func testSearch(t *testing.T) {
	sender := senderFunc(func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil })
	tries := 0
	best, limit, err := Search(context.Background(), Plan{Pacer: Constant{10, 300 * time.Millisecond}, Lines: lines(sender)},
		objectives(t, "p99<40ms"), func(Try) { tries++ })
	if err != nil {
		t.Fatal(err)
	}
	// A sender that takes 10 ms cannot send more than 100/s for long.
	if best == nil || best.Rate < 100 || best.Rate > 115 || tries < 3 || limit.Missed == "" {
		t.Errorf("found %+v after %d tries, limit %q", best, tries, limit.Missed)
	}
}

// A single bad moment does not decide, a share of errors can be allowed, and the generator's fault
// is not the server's.
func TestSearchRepeats(t *testing.T) { bubble(t, testSearchRepeats) }

func testSearchRepeats(t *testing.T) {
	var n atomic.Int64
	sender := senderFunc(func(context.Context) error {
		switch i := n.Add(1); {
		case i == 5: // in the first try
			time.Sleep(100 * time.Millisecond)
		case i%20 == 0:
			return errors.New("no")
		}
		return nil
	})
	plan := Plan{Pacer: Constant{100, 200 * time.Millisecond}, Lines: lines(sender)}
	objectives := objectives(t, "p95<50ms,errors<20%")
	var first []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	best, _, err := Search(ctx, plan, objectives, func(try Try) {
		if try.Result.Rate > 100 {
			cancel() // it would never end
		} else {
			first = append(first, try.Missed)
		}
	})
	if err != nil || best == nil || len(first) < 3 || first[0] == "" {
		t.Errorf("%v, %v, %q", best, err, first)
	}
	r := fabricated()
	r.Done = 100
	for range 100 {
		record(r.Latency, 100*time.Millisecond)
		record(r.Least, 20*time.Millisecond)
	}
	if why, generator := Missed(r, objectives); why == "" || !generator {
		t.Errorf("%q, the generator's: %v", why, generator)
	}
}

// Every protocol, against a server in another process; with the engines of other systems too.
func TestProtocols(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pair := certificate(t)
	for _, way := range []struct{ secure, plain bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		secure := way.secure
		for proto, server := range map[string]string{"http1": "nethttp", "http2": "nethttp", "grpc": "grpc"} {
			t.Run(fmt.Sprintf("%s/tls=%v/plain=%v", proto, secure, way.plain), func(t *testing.T) {
				config := greeter.Config{Server: server, Body: "json"}
				target := &Target{plain: way.plain, Proto: proto, Conns: 2, Streams: 3, Request: Request{
					Method: http.MethodPost, Body: []byte(`{"secure":"raw"}`), URL: &url.URL{Scheme: "http", Path: "/"},
				}}
				if proto == "grpc" {
					config.Body, target.RPC = "proto", "postage.send.Greeter/Hello"
				}
				if secure {
					config.Cert = pair
					target.TLS = &tls.Config{RootCAs: pair.Pool(), ServerName: tlscert.ServerName}
					target.Request.URL.Scheme = "https"
				}
				p := greet(t, config)
				target.Request.URL.Host = p.Addr
				pool := opened(t, target)
				for range 2 { // connections outlive a run
					r, err := Run(ctx, Plan{Pacer: Constant{200, 200 * time.Millisecond}, Lines: pool.Lines})
					if err != nil || r.Done != 40 || r.Failed() != 0 {
						t.Errorf("%v, %+v", err, r)
					}
				}
				c, err := p.Counters()
				conns := int64(2)
				if proto == "grpc" {
					conns++ // it has asked the server for the method
				}
				if err != nil || c.Requests != 80 || c.Conns != conns {
					t.Errorf("%v, the server saw %d requests on %d connections", err, c.Requests, c.Conns)
				}
			})
		}
	}
}

func TestGRPCErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := greet(t, greeter.Config{Server: "grpc", Body: "proto"})
	for _, test := range []struct{ rpc, body, file, want string }{
		{"postage.send.Greeter/Hello", `{"nosuch":1}`, "", "unknown field"},
		{"postage.send.Greeter/Goodbye", `{}`, "", `no method "Goodbye"`},
		{"nosuch.Service/Hello", `{}`, "", "server reflection"},
		{"Hello", `{}`, "", "want pkg.Service/Method"},
		{"postage.send.Greeter/Hello", `{}`, "nosuch.proto", "no such file"},
		{"postage.send.Greeter/Hello", `{"secure":"x"}`, "../internal/service/greeter/hello/hello.proto", ""},
	} {
		pool, err := Open(ctx, &Target{Proto: "grpc", Conns: 1, Streams: 1, RPC: test.rpc, ProtoFile: test.file, Request: Request{
			URL: &url.URL{Scheme: "http", Host: p.Addr}, Body: []byte(test.body),
		}})
		if test.want == "" {
			if err != nil {
				t.Error(err)
			} else if err := errors.Join(once(pool), pool.Close()); err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %q", test.rpc, test.body, err, test.want)
		}
	}
}

// The header can name the host that a request is addressed to, whatever client sends.
func TestHost(t *testing.T) {
	t.Parallel()
	server := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "example.com" {
			w.WriteHeader(http.StatusMisdirectedRequest)
		}
	}))
	for _, cookies := range []bool{false, true} {
		for _, proto := range []string{"http1", "http2"} {
			wantOnly(t, sent(t, parsed(t, server.URL), 5, 1, func(target *Target) {
				target.Proto, target.Cookies, target.Request.Header = proto, cookies, http.Header{"Host": {"example.com"}}
			}), 0, "")
		}
	}
}

// Answers in each of the forms that HTTP/1.1 allows.
func TestHTTP1Answers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunked":
			for range 3 {
				fmt.Fprint(w, strings.Repeat("x", 5000))
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/close":
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "bye")
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, "ok")
		case "/missing":
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/": "", "/chunked": "", "/none": "", "/close": "", "/early": "", "/missing": "status 404"} {
		u := parsed(t, server.URL+path)
		pool, err := Open(context.Background(), &Target{Proto: "http1", Conns: 1, Streams: 1, Request: Request{Method: http.MethodGet, URL: u}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			err := once(pool)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}

func objectives(t *testing.T, text string) []Objective {
	t.Helper()
	all, err := ParseObjectives(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Objectives are about latencies, failures, statuses and the rate, and a bound itself is kept where
// they say so.
func TestObjectives(t *testing.T) {
	r := fabricated()
	r.Done, r.Achieved, r.Errors = 100, 99.5, map[string]int64{"status 503": 2}
	for i := range 100 {
		record(r.Latency, time.Duration(i+1)*time.Millisecond)
		record(r.Least, time.Duration(i+1)*time.Millisecond)
	}
	for text, kept := range map[string]bool{
		"p50<51ms": true, "p50<=50.4ms": true, "p50<50ms": false, "max<=101ms": true, "max<100ms": false, "p100>99ms": true,
		"errors<=2%": true, "errors<2%": false, "errors>1%": true,
		"rate>=100": true, "rate>100": false,
	} {
		if why, _ := objectives(t, text)[0].Missed(r); (why == "") != kept {
			t.Errorf("%s: %q, want kept %v", text, why, kept)
		}
	}
	if o := objectives(t, "p99.9<5ms, errors<0.1%"); fmt.Sprint(o) != "[p99.9<5ms errors<0.1%]" {
		t.Errorf("%v", o)
	}
	for _, text := range []string{"p99", "99<5ms", "pNaN<5ms", "p99<-5ms", "p99=5ms", "errors<NaN%", "errors<-1%", "p99<5ms,", "p0<1s", "p101<1s", "max<5", "errors<5", "errors<101%", "503<1%", "rate<1ms", "max<0s", "=5", "", "Max<1%"} {
		if _, err := ParseObjectives(text); err == nil {
			t.Errorf("%q is no objective", text)
		}
	}
}
