package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A group is generators that do the same to the same server; the first is postage load.
type group struct {
	name        string
	postage     string
	server      serverConfig
	generators  []generator
	notPossible []struct{ name, why string }
}

// A generator is one way to send requests for some seconds.
type generator struct {
	name string
	run  func(ctx context.Context, s *server, seconds int) (outcome, error)
}

// outcome is what a run said of itself, and what it cost.
type outcome struct {
	requests float64 // answered by success; one that is not is an error
	cpu      time.Duration
	took     time.Duration
	achieved float64 // requests a second
	p99      time.Duration
	refused  string // why there is no p99
}

const (
	body    = `{"secure":"raw"}`
	rpc     = "postage.send.Greeter/Hello"
	conns   = 16  // of HTTP/1.1
	streams = 100 // of HTTP/2, over one connection: that is all that vegeta makes
)

// races are the runs at maximum rate.
func (p *programs) races() []group {
	http, secure := serverConfig{Server: "nethttp", Body: "json"}, serverConfig{Server: "nethttp", Body: "json", tls: true}
	return []group{
		{name: fmt.Sprintf("HTTP/1.1, %d connections", conns), postage: p.postage, server: http, generators: present(
			p.load("max", "--proto", "http1", "--conns", strconv.Itoa(conns)),
			p.vegetaAt("0", "-max-workers", strconv.Itoa(conns), "-http2=false"),
			p.wrkMax(), p.h2loadMax("--h1", "-c", strconv.Itoa(conns)))},
		{name: fmt.Sprintf("HTTP/2 without TLS, 1 connection, %d streams", streams), postage: p.postage, server: http, generators: present(
			p.load("max", "--proto", "http2", "--conns", "1", "--streams", strconv.Itoa(streams)),
			p.vegetaAt("0", "-max-workers", strconv.Itoa(streams), "-h2c"),
			p.h2loadMax("-c", "1", "-m", strconv.Itoa(streams)))},
		{name: fmt.Sprintf("HTTP/2 over TLS, 1 connection, %d streams", streams), postage: p.postage, server: secure, generators: present(
			p.load("max", "--proto", "http2", "--conns", "1", "--streams", strconv.Itoa(streams)),
			p.vegetaAt("0", "-max-workers", strconv.Itoa(streams), "-http2"),
			p.h2loadMax("-c", "1", "-m", strconv.Itoa(streams)))},
		{name: fmt.Sprintf("gRPC, 1 connection, %d streams", streams), postage: p.postage, server: serverConfig{Server: "grpc", Body: "proto"}, generators: present(
			p.load("max", "--proto", "grpc", "--method", rpc, "--conns", "1", "--streams", strconv.Itoa(streams)),
			p.ghzWith("-c", strconv.Itoa(streams), "--connections", "1"))},
	}
}

// paced are the runs at a fixed rate, with room for all that waits during a standstill.
func (p *programs) paced(rate int) []group {
	at := strconv.Itoa(rate)
	http := serverConfig{Server: "nethttp", Body: "json", Stall: stallLength.Milliseconds(), StallEvery: stallEvery.Milliseconds()}
	rpcs := http
	rpcs.Server, rpcs.Body = "grpc", "proto"
	most := strconv.Itoa(rate) // more than wait at a time
	return []group{
		{name: "HTTP/1.1", postage: p.postage, server: http, generators: present(
			p.load(at, "--proto", "http1", "--conns", "100"),
			p.vegetaAt(at, "-max-workers", most, "-http2=false")),
			notPossible: []struct{ name, why string }{{"wrk", "closed loop: a connection sends when it has its answer, so there is no rate to ask for"}}},
		{name: "HTTP/2 without TLS", postage: p.postage, server: http, generators: present(
			p.load(at, "--proto", "http2", "--conns", "1", "--streams", "200"),
			p.vegetaAt(at, "-max-workers", most, "-h2c"),
			p.h2loadAt(rate))},
		{name: "gRPC", postage: p.postage, server: rpcs, generators: present(
			p.load(at, "--proto", "grpc", "--method", rpc, "--conns", "1", "--streams", "200"),
			p.ghzWith("-c", "200", "--connections", "1", "--rps", at, "--async", "--duration-stop", "wait"))},
	}
}

// present leaves out what is not installed.
func present(all ...generator) []generator {
	return slices.DeleteFunc(all, func(g generator) bool { return g.run == nil })
}

// execute runs a program to its end and says what that took.
func execute(ctx context.Context, program string, args ...string) (text []byte, o outcome, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begun := time.Now()
	err = cmd.Run()
	o.took = time.Since(begun)
	if cmd.ProcessState != nil {
		o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), o, err
}

func (s *server) url() string {
	if s.ca != "" {
		return "https://" + s.addr + "/"
	}
	return "http://" + s.addr + "/"
}

// bodyFile is a file with the request's body.
func (p *programs) bodyFile() (string, error) {
	path := filepath.Join(p.folder, "body.json")
	return path, os.WriteFile(path, []byte(body), 0o600)
}

// load is postage load.
func (p *programs) load(rate string, args ...string) generator {
	return generator{"postage load", func(ctx context.Context, s *server, seconds int) (o outcome, err error) {
		file, err := p.bodyFile()
		if err != nil {
			return o, err
		}
		args := append([]string{"load", "--rate", rate, "--duration", fmt.Sprintf("%ds", seconds), "--body", file, "--json"}, args...)
		if rate == "max" {
			args = append(args, "--cpu", "1")
		}
		if s.ca != "" {
			args = append(args, "--ca", s.ca)
		}
		text, o, failed := execute(ctx, p.postage, append(args, s.url())...)
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

// vegetaAt is vegeta at a rate, 0 for the maximum. What its report takes is not counted.
func (p *programs) vegetaAt(rate string, args ...string) generator {
	return generator{"vegeta", func(ctx context.Context, s *server, seconds int) (o outcome, err error) {
		file, err := p.bodyFile()
		if err != nil {
			return o, err
		}
		targets, results := filepath.Join(p.folder, "targets"), filepath.Join(p.folder, "results")
		if err := os.WriteFile(targets, fmt.Appendf(nil, "POST %s\n@%s\n", s.url(), file), 0o600); err != nil {
			return o, err
		}
		args := append([]string{"attack", "-targets", targets, "-output", results, "-rate", rate, "-duration", fmt.Sprintf("%ds", seconds)}, args...)
		if s.ca != "" {
			args = append(args, "-root-certs", s.ca)
		}
		if rate == "0" {
			args = append([]string{"-cpus", "1"}, args...)
		}
		if _, o, err = execute(ctx, p.vegeta, args...); err != nil {
			return o, err
		}
		text, _, err := execute(ctx, p.vegeta, "report", "-type", "json", results)
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

// ghzWith is ghz.
func (p *programs) ghzWith(args ...string) generator {
	return generator{"ghz", func(ctx context.Context, s *server, seconds int) (o outcome, err error) {
		args := append([]string{"--insecure", "--call", rpc, "-d", body, "-O", "json", "-z", fmt.Sprintf("%ds", seconds)}, args...)
		if !slices.Contains(args, "--rps") {
			args = append(args, "--cpus", "1", "--duration-stop", "wait")
		}
		text, o, err := execute(ctx, p.ghz, append(args, s.addr)...)
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

var wrkCount = regexp.MustCompile(`(\d+) requests in`)

func (p *programs) wrkMax() generator {
	if p.wrk == "" {
		return generator{}
	}
	return generator{"wrk", func(ctx context.Context, s *server, seconds int) (o outcome, err error) {
		script := filepath.Join(p.folder, "post.lua")
		if err := os.WriteFile(script, []byte("wrk.method = \"POST\"\nwrk.body = '"+body+"'\n"), 0o600); err != nil {
			return o, err
		}
		text, o, err := execute(ctx, p.wrk, "-t1", "-c", strconv.Itoa(conns), "-d", fmt.Sprintf("%ds", seconds), "-s", script, s.url())
		if err != nil {
			return o, err
		}
		m := wrkCount.FindSubmatch(text)
		if m == nil || bytes.Contains(text, []byte("Non-2xx")) || bytes.Contains(text, []byte("Socket errors")) {
			return o, fmt.Errorf("requests failed:\n%s", text)
		}
		o.requests, err = strconv.ParseFloat(string(m[1]), 64)
		return o, err
	}}
}

var h2loadCount = regexp.MustCompile(`(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)

func (p *programs) h2loadMax(args ...string) generator {
	if p.h2load == "" {
		return generator{}
	}
	return generator{"h2load", func(ctx context.Context, s *server, seconds int) (outcome, error) {
		return p.h2loadRun(ctx, s, append(args, "-D", strconv.Itoa(seconds))...)
	}}
}

func (p *programs) h2loadRun(ctx context.Context, s *server, args ...string) (o outcome, err error) {
	file, err := p.bodyFile()
	if err != nil {
		return o, err
	}
	text, o, err := execute(ctx, p.h2load, append(append([]string{"-t1", "-d", file}, args...), s.url())...)
	if err != nil {
		return o, err
	}
	m := h2loadCount.FindSubmatch(text)
	if m == nil || string(m[2]) != "0" || string(m[3]) != "0" || string(m[4]) != "0" {
		return o, fmt.Errorf("requests failed:\n%s", text)
	}
	o.requests, err = strconv.ParseFloat(string(m[1]), 64)
	return o, err
}

// h2loadAt is h2load at a rate. It prints no percentiles; they are taken from its log, in
// which a request's time begins when it was sent, whenever it was due.
func (p *programs) h2loadAt(rate int) generator {
	if p.h2load == "" {
		return generator{}
	}
	return generator{"h2load --rps, from when a request was sent", func(ctx context.Context, s *server, seconds int) (o outcome, err error) {
		log := filepath.Join(p.folder, "h2load.log")
		_ = os.Remove(log)
		if o, err = p.h2loadRun(ctx, s, "-c", "1", "-m", "200", "--rps", strconv.Itoa(rate), "-n", strconv.Itoa(rate*seconds), "--log-file", log); err != nil {
			return o, err
		}
		text, err := os.ReadFile(log)
		if err != nil {
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
			return o, fmt.Errorf("h2load's log is empty")
		}
		slices.Sort(took)
		o.p99 = took[int(math.Ceil(0.99*float64(len(took))))-1]
		o.achieved = o.requests / o.took.Seconds()
		return o, nil
	}}
}
