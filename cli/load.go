//go:build !benchonly

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/kit/report"
	"postage/lab"
	"postage/load"
	"postage/load/fleet"
)

// loadCommand is `postage load`, the open-loop load generator.
func loadCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load [URL]",
		Short: "Send requests at a constant rate, and say how long they took",
		Long: `Load sends requests at a rate that does not depend on the server (an open loop),
and counts each latency from when the request was due. Without a URL it starts a
server of its own, in another process. --against compares two servers.

Exit status: 0 if all succeeded and, at a rate, the latencies are valid; 1 if
not; 2 for wrong usage or a fault of the tool; 130 if interrupted.`,
		Example: `  postage load --rate 1000 https://localhost:8443/hello
  postage load -X PUT -d @order.json http://localhost:8080/orders
  postage load --proto grpc --method pkg.Service/Call http://localhost:50051
  postage load --proto http2 --slo 'p99<5ms' http://localhost:8080/
  postage load --against http://localhost:8081/ http://localhost:8080/`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.fleet.share != "" {
				if args, err = readShare(f.fleet.share, cmd.Flags()); err != nil {
					return err
				}
			}
			return runLoad(cmd, args, f)
		},
	}
	flags := cmd.Flags()
	f.registerSending(flags)
	f.registerOutput(flags)
	f.fleet.register(flags)
	f.sides.register(flags)
	helpInGroups(cmd, "rate duration conns proto request header body method expect assert slo json", loadGroups...)
	return cmd
}

func runLoad(cmd *cobra.Command, args []string, f loadFlags) (err error) {
	asserts, err := f.settle(cmd.Flags(), args)
	if err != nil {
		return err
	}
	if f.cpu > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(f.cpu))
	}
	if f.fleet.on || f.fleet.attach != "" {
		return f.runFleet(cmd, args, asserts)
	}
	target, pacer, stop, err := f.target(cmd, args)
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	if f.sides.against != "" {
		return f.compare(cmd, target)
	}
	pool, err := load.Open(cmd.Context(), target)
	if err != nil {
		return err
	}
	defer pool.Close()
	return f.send(cmd, f.plan(pacer, pool), asserts)
}

// settle rejects what cannot be done.
func (f *loadFlags) settle(flags *pflag.FlagSet, args []string) (asserts []load.Objective, err error) {
	if len(args) > 0 && (strings.HasPrefix(args[0], "ws://") || strings.HasPrefix(args[0], "wss://")) && !flags.Changed("proto") {
		f.proto = "websocket"
	}
	paced := f.rate.text != "" && f.rate.speed == 0 || flags.Changed("duration")
	if err := errors.Join(f.check(args, paced), f.checkFleet(flags, args), f.checkAgainst(args)); err != nil {
		return nil, err
	}
	if f.slo != "" {
		if f.objectives, err = load.ParseObjectives(f.slo); err != nil {
			return nil, fmt.Errorf("--slo: %w", err)
		}
	}
	if text := strings.Join(f.asserts, ","); text != "" {
		if asserts, err = load.ParseObjectives(text); err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
	}
	return asserts, nil
}

// pacer is what the flags but --replay say.
func (f *loadFlags) pacer() load.Pacer {
	lasts := f.duration
	if seconds := float64(f.most) / f.rate.rate; f.most > 0 && seconds < lasts.Seconds() {
		lasts = time.Duration(seconds * 1e9)
	}
	return load.Constant{Rate: f.rate.rate, For: lasts}
}

// plan is what the flags say, over a pool's connections.
func (f *loadFlags) plan(pacer load.Pacer, pool *load.Pool) load.Plan {
	p := load.Plan{
		Pacer: pacer, Poisson: f.arrivals == "poisson", Patience: f.wait, Lines: pool.Lines, Traffic: pool.Traffic, GiveUp: f.giveUp,
	}
	if f.rate.max {
		p.Most = f.most
	}
	return p
}

// send carries out the plan, or searches for a rate, and prints what came out.
func (f *loadFlags) send(cmd *cobra.Command, plan load.Plan, asserts []load.Objective) (err error) {
	ctx := cmd.Context()
	if f.warmUp > 0 {
		before, rate := plan, f.rate.rate
		if f.fleet.worker {
			rate /= float64(f.fleet.workers)
		}
		before.Pacer, before.Most = load.Constant{Rate: rate, For: f.warmUp}, 0
		if _, err := load.Run(ctx, before); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return lab.ErrInterrupted
		}
	}
	switch {
	case f.fleet.worker:
		return fleet.Work(ctx, plan)
	case f.slo != "":
		return f.search(cmd, plan, asserts)
	}
	seconds, err := f.openSeconds(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seconds.close()) }()
	if seconds.wanted() {
		plan.Every, plan.Told = time.Second, seconds.told
	}
	server, err := load.ParseServer(f.server)
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	before, err := server.Now(ctx)
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, plan)
	if err != nil {
		return err
	}
	after, err := server.Now(context.WithoutCancel(ctx))
	if err != nil {
		say(cmd, "%v", err) // what was measured of the requests stays
	}
	result.Server = after.Since(before)
	return f.write(cmd, result, asserts)
}

// search finds the highest rate that keeps the objectives.
func (f *loadFlags) search(cmd *cobra.Command, plan load.Plan, asserts []load.Objective) error {
	result, limit, err := load.Search(cmd.Context(), plan, f.objectives, func(t load.Try) {
		say(cmd, "%.0f/s: %s", t.Result.Rate, cmp.Or(t.Missed, "holds"))
	})
	switch {
	case err != nil:
		return err
	case result == nil:
		return fmt.Errorf("no rate meets %s: %s", f.slo, limit.Missed)
	}
	if !f.json {
		fmt.Fprintf(cmd.OutOrStdout(), "%s holds up to %.0f requests a second\n", f.slo, result.Rate)
		if limit.Generator {
			fmt.Fprintf(cmd.OutOrStdout(), "the server may take more: at %.0f a second, %s\n", limit.Result.Rate, limit.Missed)
		}
	}
	return f.write(cmd, result, asserts)
}

// shows reports whether a result shows what it was asked for: latencies or, at maximum rate, the
// throughput. With assertions it is enough that requests were sent on time.
func shows(cmd *cobra.Command, result *load.Result, asserts []load.Objective) bool {
	if result.Rate == 0 {
		return true
	}
	if len(asserts) == 0 {
		return result.Invalid() == ""
	}
	rated := slices.ContainsFunc(asserts, func(o load.Objective) bool { return o.Figure == "rate" })
	if why := result.Shortfall(); why != "" && !rated {
		say(cmd, "%s", why)
		return false
	}
	return len(result.Account.Limits) == 0
}

// write prints a result and returns how the command ends.
func (f *loadFlags) write(cmd *cobra.Command, result *load.Result, asserts []load.Objective) (err error) {
	stdout := cmd.OutOrStdout()
	if f.json {
		err = report.WriteJSON(stdout, result.Summary())
	} else {
		err = result.WriteTable(stdout)
	}
	if err != nil {
		return err
	}
	if cmd.Context().Err() != nil {
		return lab.ErrInterrupted
	}
	if result.GaveUp != "" {
		return errFailedRow
	}
	kept, judged := true, false
	for _, o := range asserts {
		why, _ := o.Missed(result)
		kept = kept && why == ""
		judged = judged || o.Counts()
		say(cmd, "--assert '%v': %s", o, cmp.Or(why, "kept"))
	}
	// An assertion about errors says how many are allowed.
	if !kept || result.Failed() > 0 && !judged || !shows(cmd, result, asserts) {
		return errFailedRow
	}
	return nil
}
