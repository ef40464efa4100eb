//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A group has generators that do the same work against the same server.
type group struct {
	name       string
	protocol   string // http1, http2, tls or grpc
	rate       int    // requests a second, 0 for as many as possible
	generators []generator
}

// A generator is one program with its arguments; the first of a group is postage load.
type generator struct {
	peer string
	args string // {url}, {addr}, {ca}, {rate}, {seconds} and {folder} are filled in
	env  []string
}

const (
	conns   = 16  // connections of HTTP/1.1
	streams = 100 // streams of HTTP/2 and gRPC on one connection, since vegeta makes only one
	rpc     = "postage.send.Greeter/Hello"
)

var one = []string{"GOMAXPROCS=1", "TOKIO_WORKER_THREADS=1"}

// races are the groups without a rate.
var races = []group{
	{"HTTP/1.1, 16 connections", "http1", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http1 --conns 16 --duration {seconds}s {url}", nil},
		{"wrk", "-t1 -c16 -d{seconds}s {url}", nil},
		{"h2load", "--h1 -t1 -c16 -D {seconds} {url}", nil},
		{"vegeta", "-cpus 1 attack -targets {folder}/targets -output /dev/null -rate 0 -max-workers 16 -max-body 0 -http2=false -duration {seconds}s", nil},
		{"k6", "run --quiet --no-usage-report --no-thresholds --vus 16 --duration {seconds}s -e URL={url} {folder}/script.js", one},
		{"fortio", "load -loglevel Error -qps 0 -c 16 -t {seconds}s {url}", one},
		{"oha", "--no-tui -z {seconds}s -c 16 {url}", one},
	}},
	{"HTTP/2 without TLS, 1 connection, 100 streams", "http2", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http2 --conns 1 --streams 100 --duration {seconds}s {url}", nil},
		{"h2load", "-t1 -c1 -m100 -D {seconds} {url}", nil},
		{"vegeta", "-cpus 1 attack -targets {folder}/targets -output /dev/null -rate 0 -max-workers 100 -max-body 0 -h2c -duration {seconds}s", nil},
		{"oha", "--no-tui -z {seconds}s --http2 -c 1 -p 100 {url}", one},
	}},
	{"HTTP/2 over TLS, 1 connection, 100 streams", "tls", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http2 --conns 1 --streams 100 --ca {ca} --duration {seconds}s {url}", nil},
		{"h2load", "-t1 -c1 -m100 -D {seconds} {url}", nil},
	}},
	{"gRPC, 1 connection, 100 streams", "grpc", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto grpc --method " + rpc + " --proto-file {folder}/hello.proto --conns 1 --streams 100 --duration {seconds}s {url}", nil},
		{"ghz", "--insecure --cpus 1 --proto {folder}/hello.proto --call " + rpc + " -d {} --disable-template-functions --disable-template-data" +
			" -c 100 --connections 1 -z {seconds}s {addr}", nil},
	}},
}

// paced are the groups with a rate. wrk has no rate, and h2load's is for each connection.
var paced = []group{pacedAt(10_000), pacedAt(50_000)}

func pacedAt(rate int) group {
	return group{fmt.Sprintf("HTTP/1.1 paced, 100 connections, %d/s", rate), "http1", rate, []generator{
		{"postage", "load --rate {rate} --proto http1 --conns 100 --duration {seconds}s {url}", nil},
		{"h2load", fmt.Sprintf("--h1 -t1 -c100 --rps %d -D {seconds} {url}", rate/100), nil},
		{"vegeta", "attack -targets {folder}/targets -output /dev/null -rate {rate} -max-workers 100 -max-body 0 -http2=false -duration {seconds}s", nil},
		{"k6", "run --quiet --no-usage-report --no-thresholds -e URL={url} -e RATE={rate} -e SECONDS={seconds} {folder}/script.js", nil},
		{"fortio", "load -loglevel Error -qps {rate} -c 100 -t {seconds}s {url}", nil},
		{"oha", "--no-tui -z {seconds}s -q {rate} -c 100 {url}", nil},
	}}
}

// script is for k6.
const script = `import http from 'k6/http';
export const options = { discardResponseBodies: true };
if (__ENV.RATE) {
  options.scenarios = { paced: { executor: 'constant-arrival-rate', rate: +__ENV.RATE, duration: __ENV.SECONDS + 's', preAllocatedVUs: 100 } };
}
export default function () { http.get(__ENV.URL); }
`

const protoFile = `syntax = "proto3";
package postage.send;
message Message {}
service Greeter { rpc Hello(Message) returns (Message); }
`

// sample is the work of a generator in the measured time.
type sample struct{ perCPU, perSecond float64 }

// measure lets the generators take turns against each server, and prints the results.
func (g group) measure(ctx context.Context, p peers, servers []*server, o options, turns int, shuffle *rand.Rand, out io.Writer) error {
	present := slices.DeleteFunc(slices.Clone(g.generators), func(g generator) bool { return p.paths[g.peer] == "" })
	for _, s := range servers {
		if s.urls[g.protocol] == "" {
			continue
		}
		got := make([][]sample, len(present))
		for range turns {
			for _, i := range shuffle.Perm(len(present)) {
				seconds := o.others
				if rival := present[i].peer; g.rate == 0 && g.protocol != "grpc" && (rival == "postage" || rival == "wrk" || rival == "h2load") {
					seconds = o.seconds
				}
				one, err := present[i].sample(ctx, p, s, g, seconds)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", g.name, s.name, present[i].peer, err)
				}
				got[i] = append(got[i], one)
			}
		}
		for i, one := range present {
			perCPU, perSecond, ratio := figures{}, figures{}, figures{}
			for j, s := range got[i] {
				perCPU, perSecond = append(perCPU, s.perCPU), append(perSecond, s.perSecond)
				ratio = append(ratio, got[0][j].perCPU/s.perCPU)
			}
			beside := ""
			if i > 0 {
				beside = ratio.format("%.2fx")
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %.0f | %s |\n", g.name, s.name, strings.Replace(one.peer, "postage", "postage load", 1), perCPU.format("%.0f"), perSecond.median(), beside)
		}
	}
	return nil
}

// settles is how long a generator sends before it is measured. longest is how long it may take to
// begin.
const (
	settles = 500 * time.Millisecond
	longest = 20 * time.Second
)

// sample starts a generator, measures it for some seconds once it has begun, and ends it.
func (g generator) sample(ctx context.Context, p peers, s *server, in group, seconds int) (sample, error) {
	url := s.urls[in.protocol]
	if err := p.write(url); err != nil {
		return sample{}, err
	}
	fill := strings.NewReplacer("{url}", url, "{addr}", strings.TrimPrefix(strings.TrimSuffix(url, "/"), "http://"), "{ca}", s.ca,
		"{rate}", strconv.Itoa(in.rate), "{seconds}", strconv.Itoa(seconds+3), "{folder}", p.folder)
	var args []string
	for _, a := range strings.Fields(g.args) {
		args = append(args, fill.Replace(a))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.paths[g.peer], args...)
	cmd.Env = append(os.Environ(), g.env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	ended := make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		failure = cmd.Wait()
	}()
	wait := func(d time.Duration) error {
		select {
		case <-ended:
			return fmt.Errorf("%s ended before it was measured: %v\n%s", strings.Join(cmd.Args, " "), failure, said.Bytes())
		case <-time.After(d):
			return ctx.Err()
		}
	}
	var first, begun, last moment
	err := first.read(s, cmd.Process.Pid)
	for begun = first; err == nil && begun.requests < first.requests+100; {
		if begun.at.Sub(first.at) > longest {
			err = fmt.Errorf("%s sent nothing for %v", strings.Join(cmd.Args, " "), longest)
		} else if err = wait(50 * time.Millisecond); err == nil {
			err = begun.read(s, cmd.Process.Pid)
		}
	}
	for _, step := range []struct {
		lasts time.Duration
		then  *moment
	}{{settles, &begun}, {time.Duration(seconds) * time.Second, &last}} {
		if err == nil {
			err = wait(step.lasts)
		}
		if err == nil {
			err = step.then.read(s, cmd.Process.Pid)
		}
	}
	cancel()
	<-ended
	if err != nil {
		return sample{}, err
	}
	requests := float64(last.requests - begun.requests)
	return sample{requests / (last.cpu - begun.cpu).Seconds(), requests / last.at.Sub(begun.at).Seconds()}, nil
}

// A moment has the counters as they were at one time.
type moment struct {
	at       time.Time
	requests int64
	cpu      time.Duration
}

func (m *moment) read(s *server, pid int) (err error) {
	if m.requests, err = s.requests(); err != nil {
		return err
	}
	m.at = time.Now()
	// /proc/PID/stat: the name is in parentheses and can have any character.
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return errors.New("/proc/PID/stat is too short")
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	m.cpu = time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	return errors.Join(err1, err2)
}
