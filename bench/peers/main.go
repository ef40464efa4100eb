// Command peers runs `postage load` and established load generators against one and the
// same server, and prints as Markdown what each costs a request and how true it is to a
// rate.
//
//	go run -C bench/peers .
//
// It is a Go program and not a shell script since the CPU time of the generators is what
// wait4 tells about each process, the server is told what to be in JSON, and
// the repetitions are shuffled and summed up by medians. It and the peers that the
// module proxy has are a module of their own, so that no other module gets them.
//
// wrk and h2load are installed from Debian's packages where they are missing, which
// takes root; without them their rows are left out and it says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are what the program is asked for.
type options struct {
	repetitions int
	seconds     int // of a run at maximum rate
	rate        int // requests a second, where it is fixed
	seed        uint64
	only        string // groups whose name contains it
}

func main() {
	var o options
	flag.IntVar(&o.repetitions, "repetitions", 4, "of each run at maximum rate; those at a fixed rate get 3 at most")
	flag.IntVar(&o.seconds, "seconds", 2, "a run at maximum rate takes")
	flag.IntVar(&o.rate, "rate", 500, "requests a second at a fixed rate")
	flag.Uint64Var(&o.seed, "seed", 1, "of the order of runs")
	flag.StringVar(&o.only, "only", "", "groups with this in their name, such as gRPC")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "postage-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	p, err := prepare(ctx, folder)
	if err != nil {
		return err
	}
	begun, before := time.Now(), readMachine()
	shuffle := rand.New(rand.NewPCG(o.seed, 0))
	fmt.Fprintf(out, "## Requests a second of client CPU time\n\nOne thread each (%d repetitions of %d s in shuffled order; median, lowest to highest).\n\n",
		o.repetitions, o.seconds)
	fmt.Fprintln(out, "| what | generator | requests/CPU s | requests/s | postage load is |\n|---|---|---:|---:|---:|")
	for _, g := range chosen(p.races(), o.only) {
		if err := race(ctx, g, o, shuffle, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n## True to a rate\n\n%d requests a second for %v against a server that stands still for %v every %v. Computed: p99 = %v.\n\n",
		o.rate, fixedFor, stallLength, stallEvery, computedP99)
	fmt.Fprintln(out, "| what | generator | achieved of the rate | p99 | off the computed |\n|---|---|---:|---:|---:|")
	if err := fixed(ctx, p, o, shuffle, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s; %v in all\n", before.until(readMachine()), time.Since(begun).Round(time.Second))
	return nil
}

// programs are the generators, by their paths; one that is missing is "".
type programs struct {
	postage, vegeta, ghz, wrk, h2load string
	folder                            string
}

// prepare builds and installs what is needed.
func prepare(ctx context.Context, folder string) (*programs, error) {
	p := &programs{folder: folder}
	for _, b := range []struct {
		to        *string
		dir, path string
	}{
		{&p.postage, filepath.Join("..", ".."), "./cmd/postage"},
		{&p.vegeta, ".", "github.com/tsenart/vegeta/v12"},
		{&p.ghz, ".", "github.com/bojand/ghz/cmd/ghz"},
	} {
		*b.to = filepath.Join(folder, filepath.Base(b.path))
		fmt.Fprintln(os.Stderr, "peers: build", b.path)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", *b.to, b.path)
		cmd.Dir = b.dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", b.path, err, text)
		}
	}
	for _, d := range []struct {
		to         *string
		name, from string
	}{{&p.wrk, "wrk", "wrk"}, {&p.h2load, "h2load", "nghttp2-client"}} {
		path, err := install(ctx, d.name, d.from)
		if err != nil {
			fmt.Fprintf(os.Stderr, "peers: %s is left out: %v\n", d.name, err)
		}
		*d.to = path
	}
	return p, nil
}

// install finds a program, or gets it from Debian.
func install(ctx context.Context, name, from string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("it is not installed, and only root can (apt-get install %s)", from)
	}
	if text, err := exec.CommandContext(ctx, "apt-get", "update", "-qq").CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get update: %w\n%s", err, text)
	}
	cmd := exec.CommandContext(ctx, "apt-get", "install", "-y", "-qq", "--no-install-recommends", from)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install %s: %w\n%s", from, err, text)
	}
	return exec.LookPath(name)
}

func chosen(all []group, only string) []group {
	return slices.DeleteFunc(all, func(g group) bool { return !strings.Contains(g.name, only) })
}

// race has generators send as much as they can to one server.
func race(ctx context.Context, g group, o options, shuffle *rand.Rand, out io.Writer) (err error) {
	s, err := startServer(g.postage, g.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	results := make([][]outcome, len(g.generators))
	for range o.repetitions {
		for _, i := range shuffle.Perm(len(g.generators)) {
			one := g.generators[i]
			got, err := one.run(ctx, s, o.seconds)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", g.name, one.name, err)
			}
			results[i] = append(results[i], got)
		}
	}
	for i, one := range g.generators {
		perCPU, perSecond, ratio := figures{}, figures{}, figures{}
		for j, r := range results[i] {
			perCPU = append(perCPU, r.requests/r.cpu.Seconds())
			perSecond = append(perSecond, r.requests/r.took.Seconds())
			ours := results[0][j]
			ratio = append(ratio, ours.requests/ours.cpu.Seconds()/perCPU[j])
		}
		beside := ""
		if i > 0 {
			beside = ratio.format("%.2fx")
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.0f | %s |\n", g.name, one.name, perCPU.format("%.0f"), perSecond.median(), beside)
	}
	return nil
}

// The server's standstills, and the runs that meet them: as long as some whole number of
// intervals, so that the share of requests that is due during a standstill does not depend
// on when a run begins.
const (
	stallLength = 200 * time.Millisecond
	stallEvery  = 2 * time.Second
	fixedFor    = 3 * stallEvery
)

// computedP99 is the true one. A request that is due t after a standstill began
// has its answer stallLength - t later, all others at once. Requests come evenly, so the
// share that takes longer than x is (stallLength - x)/stallEvery, which is 1% where x is
// stallLength - stallEvery/100. What the server takes for the requests that waited before
// it is left out: at p99 those are the ones of the first 20 ms, 10 of them at 500/s.
const computedP99 = stallLength - stallEvery/100

// fixed has generators send at a rate.
func fixed(ctx context.Context, p *programs, o options, shuffle *rand.Rand, out io.Writer) (err error) {
	for _, g := range chosen(p.paced(o.rate), o.only) {
		s, err := startServer(g.postage, g.server)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		results := make([][]outcome, len(g.generators))
		for range min(o.repetitions, 3) {
			for _, i := range shuffle.Perm(len(g.generators)) {
				got, err := g.generators[i].run(ctx, s, int(fixedFor.Seconds()))
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
				achieved = append(achieved, 100*r.achieved/float64(o.rate))
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
	}
	return nil
}
