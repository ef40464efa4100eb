//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// A stallGroup has generators that send to a server that stalls.
type stallGroup struct {
	name        string
	server      greeterConfig
	generators  []stallGenerator
	notPossible []struct{ name, why string }
}

// A stallGenerator reports its own measurements.
type stallGenerator struct {
	peer, name string
	run        func(ctx context.Context, s *greeter) (outcome, error)
}

// outcome is what a run reported.
type outcome struct {
	requests, achieved float64 // achieved requests a second
	took               time.Duration
	p99                time.Duration
	refused            string // why there is no p99
}

const body = `{"secure":"raw"}`

// stallGroups have room for all requests that wait during a stall.
func (p peers) stallGroups() []stallGroup {
	at := strconv.Itoa(stallRate)
	http := greeterConfig{Server: "nethttp", Body: "json", Stall: stallLength.Milliseconds(), StallEvery: stallEvery.Milliseconds()}
	rpcs := http
	rpcs.Server, rpcs.Body = "grpc", "proto"
	return []stallGroup{
		{name: "HTTP/1.1", server: http, generators: []stallGenerator{
			p.load(at, "--proto", "http1", "--conns", "100"),
			p.vegeta(at, "-max-workers", at, "-http2=false")},
			notPossible: []struct{ name, why string }{{"wrk", "closed loop: a connection sends when it has its answer, so there is no rate to ask for"}}},
		{name: "HTTP/2 without TLS", server: http, generators: []stallGenerator{
			p.load(at, "--proto", "http2", "--conns", "1", "--streams", "200"),
			p.vegeta(at, "-max-workers", at, "-h2c"),
			p.h2load()}},
		{name: "gRPC", server: rpcs, generators: []stallGenerator{
			p.load(at, "--proto", "grpc", "--method", rpc, "--conns", "1", "--streams", "200"),
			p.ghz("-c", "200", "--connections", "1", "--rps", at, "--async", "--duration-stop", "wait")}},
	}
}

// stalls lets the generators take turns.
func stalls(ctx context.Context, p peers, turns int, shuffle *rand.Rand, out io.Writer) (err error) {
	for _, g := range p.stallGroups() {
		if err := g.measure(ctx, p, turns, shuffle, out); err != nil {
			return err
		}
	}
	return nil
}

func (g stallGroup) measure(ctx context.Context, p peers, turns int, shuffle *rand.Rand, out io.Writer) (err error) {
	g.generators = slices.DeleteFunc(g.generators, func(g stallGenerator) bool { return p.paths[g.peer] == "" })
	s, err := startGreeter(p.paths["postage"], g.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	results := make([][]outcome, len(g.generators))
	for range turns {
		for _, i := range shuffle.Perm(len(g.generators)) {
			got, err := g.generators[i].run(ctx, s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", g.name, g.generators[i].name, err)
			}
			results[i] = append(results[i], got)
		}
	}
	for i, one := range g.generators {
		achieved, p99, off := figures{}, figures{}, figures{}
		refused := ""
		for _, r := range results[i] {
			achieved = append(achieved, 100*r.achieved/stallRate)
			if r.refused != "" {
				refused = r.refused
				continue
			}
			p99 = append(p99, r.p99.Seconds()*1e3)
			off = append(off, 100*(r.p99.Seconds()/computedP99.Seconds()-1))
		}
		latency, beside := p99.format("%.1f ms"), off.format("%+.1f%%")
		if len(p99) == 0 {
			latency, beside = "refused: "+refused, "n/a"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", g.name, one.name, achieved.format("%.1f%%"), latency, beside)
	}
	for _, n := range g.notPossible {
		fmt.Fprintf(out, "| %s | %s | not possible: %s | | |\n", g.name, n.name, n.why)
	}
	return nil
}

// execute runs a program until it ends.
func execute(ctx context.Context, program string, args ...string) (text []byte, o outcome, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begun := time.Now()
	err = cmd.Run()
	o.took = time.Since(begun)
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), o, err
}

var fixedSeconds = fmt.Sprintf("%.0fs", fixedFor.Seconds())

// load runs postage load.
func (p peers) load(rate string, args ...string) stallGenerator {
	return stallGenerator{"postage", "postage load", func(ctx context.Context, s *greeter) (o outcome, err error) {
		args := append([]string{"load", "--rate", rate, "--duration", fixedSeconds, "--body", "@" + p.body(), "--json"}, args...)
		text, o, failed := execute(ctx, p.paths["postage"], append(args, s.url())...)
		var r struct {
			Requests, Failed, Achieved float64
			Invalid                    string              `json:"latency_invalid"`
			Latency                    map[string]*float64 `json:"latency_ns"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return o, failed
		}
		if r.Failed > 0 || failed != nil && r.Invalid == "" {
			return o, fmt.Errorf("%.0f requests failed: %w", r.Failed, failed)
		}
		o.requests, o.achieved, o.refused = r.Requests, r.Achieved, r.Invalid
		if p99 := r.Latency["p99"]; p99 != nil {
			o.p99 = time.Duration(*p99)
		}
		return o, nil
	}}
}

// vegeta sends at a rate; a second program reports.
func (p peers) vegeta(rate string, args ...string) stallGenerator {
	return stallGenerator{"vegeta", "vegeta", func(ctx context.Context, s *greeter) (o outcome, err error) {
		targets, results := filepath.Join(p.folder, "stalltargets"), filepath.Join(p.folder, "results")
		if err := os.WriteFile(targets, fmt.Appendf(nil, "POST %s\n@%s\n", s.url(), p.body()), 0o600); err != nil {
			return o, err
		}
		args := append([]string{"attack", "-targets", targets, "-output", results, "-rate", rate, "-duration", fixedSeconds}, args...)
		if _, o, err = execute(ctx, p.paths["vegeta"], args...); err != nil {
			return o, err
		}
		text, _, err := execute(ctx, p.paths["vegeta"], "report", "-type", "json", results)
		if err != nil {
			return o, err
		}
		var r struct {
			Requests, Success, Rate float64
			Latencies               struct {
				P99 int64 `json:"99th"`
			}
			Errors []string
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return o, fmt.Errorf("read vegeta's report: %w", err)
		}
		if r.Success != 1 {
			return o, fmt.Errorf("%.2f%% of requests succeeded: %q", 100*r.Success, r.Errors)
		}
		o.requests, o.achieved, o.p99 = r.Requests, r.Rate, time.Duration(r.Latencies.P99)
		return o, nil
	}}
}

func (p peers) ghz(args ...string) stallGenerator {
	return stallGenerator{"ghz", "ghz", func(ctx context.Context, s *greeter) (o outcome, err error) {
		args := append([]string{"--insecure", "--call", rpc, "-d", body, "-O", "json", "-z", fixedSeconds,
			"--disable-template-functions", "--disable-template-data"}, args...)
		text, o, err := execute(ctx, p.paths["ghz"], append(args, s.addr)...)
		if err != nil {
			return o, err
		}
		var r struct {
			Count, Rps float64
			Errors     map[string]float64 `json:"errorDistribution"`
			Latency    []struct {
				Percentage int
				Latency    int64
			} `json:"latencyDistribution"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return o, fmt.Errorf("read ghz's report: %w", err)
		}
		if len(r.Errors) > 0 {
			return o, fmt.Errorf("requests failed: %v", r.Errors)
		}
		o.requests, o.achieved = r.Count, r.Rps
		for _, l := range r.Latency {
			if l.Percentage == 99 {
				o.p99 = time.Duration(l.Latency)
			}
		}
		return o, nil
	}}
}

var h2loadCount = regexp.MustCompile(`(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)

// h2load prints no percentiles. They are computed from its log, in which a request's time begins
// when it was sent, whenever it was due.
func (p peers) h2load() stallGenerator {
	return stallGenerator{"h2load", "h2load --rps, from when a request was sent", func(ctx context.Context, s *greeter) (o outcome, err error) {
		log := filepath.Join(p.folder, "h2load.log")
		_ = os.Remove(log)
		text, o, err := execute(ctx, p.paths["h2load"], "-t1", "-d", p.body(), "-c", "1", "-m", "200", "--rps", strconv.Itoa(stallRate),
			"-n", strconv.Itoa(stallRate*int(fixedFor.Seconds())), "--log-file", log, s.url())
		if err != nil {
			return o, err
		}
		m := h2loadCount.FindSubmatch(text)
		if m == nil || string(m[2]) != "0" || string(m[3]) != "0" || string(m[4]) != "0" {
			return o, fmt.Errorf("requests failed:\n%s", text)
		}
		if o.requests, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
			return o, err
		}
		if text, err = os.ReadFile(log); err != nil {
			return o, err
		}
		var took []time.Duration
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 3 {
				us, err := strconv.ParseInt(f[2], 10, 64)
				if err != nil {
					return o, fmt.Errorf("read h2load's log: %w", err)
				}
				took = append(took, time.Duration(us)*time.Microsecond)
			}
		}
		if len(took) == 0 {
			return o, errors.New("h2load's log is empty")
		}
		slices.Sort(took)
		o.p99 = took[int(math.Ceil(0.99*float64(len(took))))-1]
		o.achieved = o.requests / o.took.Seconds()
		return o, nil
	}}
}
