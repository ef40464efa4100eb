//go:build linux

// Command peers compares `postage load` with established load generators: how many requests each
// sends for one second of its own CPU time, and how well each keeps to a rate. It prints Markdown.
//
//	go run -C tools/peers .
//	go run -C tools/peers . -servers responder -peers wrk,h2load -only HTTP/1.1
//
// The server counts the requests, and the kernel the CPU time, both between two moments in the
// middle of a run. Nothing that a generator does when it starts, or when it sums up, is counted,
// and all generators are counted alike.
//
// Two servers answer at once: nginx with a fixed answer, and the responder, which is one thread
// that only looks for the end of each request (responder.go). Each turn runs all generators of a
// group in a new random order.
//
// Generators written in Go are built at the versions in go.mod, which is a module of its own so
// that no other module depends on them. Others are used if they are installed. A missing one is
// left out, and the program says how to install it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the program's options.
type options struct {
	turns   int
	seconds int // measured seconds of a run of postage load, wrk and h2load
	others  int // measured seconds of a run of all others, and of paced runs
	seed    uint64
	only    string // run the groups whose name contains it
	servers string
	peers   string
}

func main() {
	var o options
	flag.IntVar(&o.turns, "turns", 5, "turns of each group; paced groups get at most 3, and groups with a server that stalls at most 2")
	flag.IntVar(&o.seconds, "seconds", 10, "seconds measured in a run of postage load, wrk or h2load")
	flag.IntVar(&o.others, "others", 2, "seconds measured in a run of the others, and in a paced run")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the order of runs")
	flag.StringVar(&o.only, "only", "", "only groups with this in their name, such as HTTP/1.1, HTTP/2, TLS, gRPC, paced, stalls")
	flag.StringVar(&o.servers, "servers", "", "some of responder,nginx")
	flag.StringVar(&o.peers, "peers", "", "some of "+strings.Join(peerNames(), ","))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// among reports whether a list of the options has a name. An empty list has every name.
func among(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.turns < 1 || o.seconds < 1 || o.others < 1 {
		return errors.New("-turns, -seconds and -others have to be at least 1")
	}
	folder, err := os.MkdirTemp("", "postage-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	p, err := install(ctx, folder, o.peers)
	if err != nil {
		return err
	}
	servers, err := startServers(ctx, folder, o.servers)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.close())
		}
	}()
	begun, before := time.Now(), readMachine()
	shuffle := rand.New(rand.NewPCG(o.seed, 0))

	for _, table := range []struct {
		title  string
		groups []group
		turns  int
	}{
		{"Requests a second of the generator's CPU time, as fast as it can on one thread", races, o.turns},
		{"The same at a rate, with as many threads as the generator likes", paced, min(o.turns, 3)},
	} {
		groups := slices.DeleteFunc(table.groups, func(g group) bool { return !strings.Contains(g.name, o.only) })
		if len(groups) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s; turns: %d (lowest to highest).\n\n", table.title, table.turns)
		fmt.Fprintln(out, "| what | server | generator | requests/CPU s, median | requests/s | postage load is |\n|---|---|---|---:|---:|---:|")
		for _, g := range groups {
			if err := g.measure(ctx, p, servers, o, table.turns, shuffle, out); err != nil {
				return err
			}
		}
		fmt.Fprintln(out)
	}
	if strings.Contains("stalls", o.only) {
		turns := min(o.turns, 2)
		fmt.Fprintf(out, "%d requests a second for %v against a server that stands still for %v every %v, %d turns. Computed: p99 = %v.\n\n",
			stallRate, fixedFor, stallLength, stallEvery, turns, computedP99)
		fmt.Fprintln(out, "| what | generator | achieved of the rate | p99 | off the computed |\n|---|---|---:|---:|---:|")
		if err := stalls(ctx, p, turns, shuffle, out); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s; %v in all\n", before.until(readMachine()), time.Since(begun).Round(time.Second))
	return nil
}
