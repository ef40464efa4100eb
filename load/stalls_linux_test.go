package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"postage/internal/service/greeter"
)

// The length and the distance of the server's stalls, and the length of the runs. A run lasts a
// whole number of intervals, so that the share of requests that are due during a stall does not
// depend on when the run begins.
const (
	stallRate   = 500
	stallLength = 200 * time.Millisecond
	stallEvery  = 2 * time.Second
	fixedFor    = 3 * stallEvery
)

// computedP99 is the true p99. A request that is due t after a stall began has to wait for
// stallLength - t; all others are answered at once. Requests come evenly, so the share that takes
// longer than x is (stallLength - x)/stallEvery. That is 1% if x is stallLength - stallEvery/100.
// The time in which the server catches up is left out: at p99 it is the time for the requests of
// the first 20 ms, which are 10 at 500/s.
const computedP99 = stallLength - stallEvery/100

// A stallGenerator reports its own measurements.
type stallGenerator struct {
	peer, name string
	run        func(ctx context.Context, addr string) (achieved float64, p99 time.Duration, refused string, err error)
}

// TestStalledPeers has generators send 500 requests a second to a server that stands still for
// 200 ms every 2 s, and logs how far the p99 of each is from the computed one, as rows of Markdown.
// wrk is not among them: a connection of its sends when it has its answer, so that there is no rate
// to ask for.
//
//	POSTAGE_LONG=hours go test ./load -run TestStalledPeers -v -timeout 1h
func TestStalledPeers(t *testing.T) {
	p, shuffle := findPeers(t), rand.New(rand.NewPCG(*peerSeed, 0))
	at := strconv.Itoa(stallRate)
	for _, g := range []struct { // with room for all requests that wait during a stall
		name, server, body string
		generators         []stallGenerator
	}{
		{"HTTP/1.1", "nethttp", "json", []stallGenerator{
			p.load(at, "--proto", "http1", "--conns", "100"),
			p.vegeta(at, "-max-workers", at, "-http2=false")}},
		{"HTTP/2 without TLS", "nethttp", "json", []stallGenerator{
			p.load(at, "--proto", "http2", "--conns", "1", "--streams", "200"),
			p.vegeta(at, "-max-workers", at, "-h2c"),
			p.h2load()}},
		{"gRPC", "grpc", "proto", []stallGenerator{
			p.load(at, "--proto", "grpc", "--method", helloRPC, "--conns", "1", "--streams", "200"),
			p.ghz("-c", "200", "--connections", "1", "--rps", at, "--async", "--duration-stop", "wait")}},
	} {
		t.Run(strings.ReplaceAll(g.name, "/", " "), func(t *testing.T) {
			s, err := greeter.Start(t.Context(), greeter.Config{Server: g.server, Body: g.body, Stall: stallLength.Milliseconds(), StallEvery: stallEvery.Milliseconds()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			generators := slices.DeleteFunc(g.generators, func(g stallGenerator) bool { return p.paths[g.peer] == "" })
			shares, p99s, off, why, before := make([]figures, len(generators)), make([]figures, len(generators)), make([]figures, len(generators)), make([]string, len(generators)), loadAverage()
			for range min(*peerTurns, 2) {
				for _, i := range shuffle.Perm(len(generators)) {
					achieved, p99, refused, err := generators[i].run(t.Context(), s.Addr)
					if err != nil {
						t.Fatalf("%s: %v", generators[i].name, err)
					}
					if shares[i] = append(shares[i], 100*achieved/stallRate); refused != "" {
						why[i] = "refused: " + refused
						continue
					}
					p99s[i], off[i] = append(p99s[i], p99.Seconds()*1e3), append(off[i], 100*(p99.Seconds()/computedP99.Seconds()-1))
				}
			}
			for i, one := range generators {
				t.Logf("| %s | %s | %s | %s | %s | %s |", g.name, one.name, shares[i].format("%.1f%%"), p99s[i].format("%.1f ms"), off[i].format("%+.1f%%"), why[i])
			}
			t.Logf("computed: %v; load average %s at the beginning and %s at the end", computedP99, before, loadAverage())
		})
	}
}

// execute runs a program until it ends.
func execute(ctx context.Context, program string, args ...string) (stdout []byte, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	begun := time.Now()
	if stdout, err = cmd.Output(); err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, stdout, stderr.String())
	}
	return stdout, time.Since(begun), err
}

// body is the file with the body of requests.
func (p peers) body() string { return filepath.Join(p.folder, "body.json") }

// load runs postage load.
func (p peers) load(rate string, args ...string) stallGenerator {
	return stallGenerator{"postage", "postage load", func(ctx context.Context, addr string) (achieved float64, p99 time.Duration, refused string, err error) {
		args := append([]string{"load", "--rate", rate, "--duration", fixedFor.String(), "--body", "@" + p.body(), "--json"}, args...)
		text, _, failed := execute(ctx, p.paths["postage"], append(args, "http://"+addr+"/")...)
		var r struct {
			Failed, Achieved float64
			Invalid          string              `json:"latency_invalid"`
			Latency          map[string]*float64 `json:"latency_ns"`
		}
		if err := json.Unmarshal(text, &r); err != nil || r.Failed > 0 || failed != nil && r.Invalid == "" {
			return 0, 0, "", errors.Join(fmt.Errorf("%.0f requests failed", r.Failed), failed, err)
		}
		if q := r.Latency["p99"]; q != nil {
			p99 = time.Duration(*q)
		}
		return r.Achieved, p99, r.Invalid, nil
	}}
}

// vegeta sends at a rate; a second program reports.
func (p peers) vegeta(rate string, args ...string) stallGenerator {
	return stallGenerator{"vegeta", "vegeta", func(ctx context.Context, addr string) (achieved float64, p99 time.Duration, refused string, err error) {
		targets, results := filepath.Join(p.folder, "stalltargets"), filepath.Join(p.folder, "results")
		if err := os.WriteFile(targets, fmt.Appendf(nil, "POST http://%s/\n@%s\n", addr, p.body()), 0o600); err != nil {
			return 0, 0, "", err
		}
		args := append([]string{"attack", "-targets", targets, "-output", results, "-rate", rate, "-duration", fixedFor.String()}, args...)
		_, _, err = execute(ctx, p.paths["vegeta"], args...)
		text, _, failed := execute(ctx, p.paths["vegeta"], "report", "-type", "json", results)
		var r struct {
			Success, Rate float64
			Latencies     struct {
				P99 int64 `json:"99th"`
			}
			Errors []string
		}
		if err := errors.Join(err, failed, json.Unmarshal(text, &r)); err != nil || r.Success != 1 {
			return 0, 0, "", errors.Join(fmt.Errorf("%.2f%% of requests succeeded: %q", 100*r.Success, r.Errors), err)
		}
		return r.Rate, time.Duration(r.Latencies.P99), "", nil
	}}
}

func (p peers) ghz(args ...string) stallGenerator {
	return stallGenerator{"ghz", "ghz", func(ctx context.Context, addr string) (achieved float64, p99 time.Duration, refused string, err error) {
		args := append([]string{"--insecure", "--call", helloRPC, "-d", peerFiles["body.json"], "-O", "json", "-z", fixedFor.String(),
			"--disable-template-functions", "--disable-template-data"}, args...)
		text, _, err := execute(ctx, p.paths["ghz"], append(args, addr)...)
		var r struct {
			Rps     float64
			Errors  map[string]float64 `json:"errorDistribution"`
			Latency []struct {
				Percentage int
				Latency    int64
			} `json:"latencyDistribution"`
		}
		if err := errors.Join(err, json.Unmarshal(text, &r)); err != nil || len(r.Errors) > 0 {
			return 0, 0, "", errors.Join(fmt.Errorf("requests failed: %v", r.Errors), err)
		}
		for _, l := range r.Latency {
			if l.Percentage == 99 {
				p99 = time.Duration(l.Latency)
			}
		}
		return r.Rps, p99, "", nil
	}}
}

var h2loadCount = regexp.MustCompile(`(\d+) succeeded, 0 failed, 0 errored, 0 timeout`)

// h2load prints no percentiles. They are computed from its log, in which a request's time begins
// when it was sent, whenever it was due.
func (p peers) h2load() stallGenerator {
	return stallGenerator{"h2load", "h2load --rps, from when a request was sent", func(ctx context.Context, addr string) (achieved float64, p99 time.Duration, refused string, err error) {
		log := filepath.Join(p.folder, "h2load.log")
		_ = os.Remove(log)
		text, lasted, err := execute(ctx, p.paths["h2load"], "-t1", "-d", p.body(), "-c", "1", "-m", "200", "--rps", strconv.Itoa(stallRate),
			"-n", strconv.Itoa(stallRate*int(fixedFor.Seconds())), "--log-file", log, "http://"+addr+"/")
		m := h2loadCount.FindSubmatch(text)
		if err != nil || m == nil {
			return 0, 0, "", errors.Join(fmt.Errorf("requests failed:\n%s", text), err)
		}
		requests, _ := strconv.ParseFloat(string(m[1]), 64)
		if text, err = os.ReadFile(log); err != nil {
			return 0, 0, "", err
		}
		var took []time.Duration
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 3 {
				us, err := strconv.ParseInt(f[2], 10, 64)
				if err != nil {
					return 0, 0, "", fmt.Errorf("read h2load's log: %w", err)
				}
				took = append(took, time.Duration(us)*time.Microsecond)
			}
		}
		if len(took) == 0 {
			return 0, 0, "", errors.New("h2load's log is empty")
		}
		slices.Sort(took)
		return requests / lasted.Seconds(), took[int(math.Ceil(0.99*float64(len(took))))-1], "", nil
	}}
}
