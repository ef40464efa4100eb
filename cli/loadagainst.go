//go:build !benchonly

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"postage/internal/feature/loadagainst"
	"postage/internal/kit/report"
	"postage/internal/sys/machine"
	"postage/load"
	"postage/record"
)

// againstFlags are the flags of `postage load` that compare two servers.
type againstFlags struct {
	against, serve, out string
	atOnce, sameAnswers bool
	gate                loadagainst.Limits
}

func (f *againstFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.against, "against", "", "compare with the old server, in turns: its `URL`, or with --serve a revision")
	flags.BoolVar(&f.atOnce, "at-once", false, "send half of the rate to each side all the time, in place of turns")
	flags.BoolVar(&f.sameAnswers, "same-answers", false, "fail if the sides answer the first requests differently")
	flags.StringVar(&f.serve, "serve", "", "start both sides by this shell `command`; {addr} is where each shall listen")
	f.gate = loadagainst.Limits{}
	flags.Func("gate", "fail if a figure is higher by more than this `limit`: p99:5%, errors:0; may be repeated", f.gate.Set)
	flags.StringVar(&f.out, "out", "", "keep the record in `file`, for `postage show` and to go on after an interruption")
}

// checkAgainst rejects what cannot be combined with a comparison of two servers.
func (f *loadFlags) checkAgainst(args []string) error {
	a := &f.sides
	if a.against == "" {
		return refuse([]refusal{{a.serve+a.out != "" || a.atOnce || a.sameAnswers || len(a.gate) > 0, "--serve, --at-once, --same-answers, --gate and --out compare two servers", "give --against the old one"}})
	}
	revision := !strings.Contains(a.against, "://")
	return refuse([]refusal{
		{len(args) == 0, "--against needs the URL of the new side too", "such as http://localhost/orders; --serve needs its path"},
		{revision && a.serve == "", fmt.Sprintf("--against %s is no URL", a.against), "write http:// before it; --serve starts the server of a revision"},
		{a.serve != "" && !strings.Contains(a.serve, "{addr}"), "--serve has no {addr}", "write it where the server's address goes"},
		{a.serve != "" && !revision, "--serve starts both sides, and --against is a URL", "give --against a revision"},
		{f.rate.max || f.replay != "" || f.fleet.on || f.most > 0, "--against compares at one rate", "leave out --rate max, --replay, --max-requests and --kubernetes"},
		{f.server != "" && (strings.Count(f.server, ",") != 1 || a.serve != ""), "--server has two with --against: OLD,NEW", "leave it out with --serve"},
		{f.slo != "" && (a.out != "" || a.atOnce || a.sameAnswers || len(a.gate) > 0), "--slo looks for the highest rate of both sides", "leave out --at-once, --same-answers, --out and --gate"},
		{f.csv+f.hlog+f.prometheus != "" || len(f.asserts) > 0, "--csv, --hdr-log, --prometheus and --assert are about one server", "--out and --gate are about two"},
	})
}

// compare measures two servers.
func (f *loadFlags) compare(cmd *cobra.Command, target *load.Target) (err error) {
	var sides loadagainst.Sides
	defer func() { err = errors.Join(err, sides.Close()) }()
	ctx, fail := context.WithCancelCause(cmd.Context())
	defer fail(nil)
	cmd.SetContext(ctx)
	if err := f.openSides(cmd, fail, target, &sides); err != nil {
		return err
	}
	turns := &loadagainst.Turns{Plan: load.Plan{Poisson: f.arrivals == "poisson", Patience: f.wait}, Rate: f.rate.rate, AtOnce: f.sides.atOnce}
	if f.slo != "" {
		return f.searchBoth(cmd, &sides, turns.Plan)
	}
	rec, err := f.record(&sides, turns)
	if err != nil {
		return err
	}
	say(cmd, "calibrating the slices")
	if err := sides.Calibrate(ctx, turns, rec); err != nil {
		return err
	}
	if f.sides.sameAnswers && len(rec.Run.Warnings) > 0 {
		return fmt.Errorf("--same-answers: %s", strings.Join(rec.Run.Warnings, "; "))
	}
	live := newView(cmd.ErrOrStderr())
	failed := sides.Run(ctx, turns, rec, func() error {
		if live.live {
			live.draw(fmt.Sprintf("%v left", max(0, rec.Run.Budget-rec.Run.Elapsed).Round(time.Second)))
		}
		if f.sides.out == "" {
			return nil
		}
		return rec.Save(f.sides.out)
	})
	live.erase()
	if len(rec.Blocks) == 0 {
		return failed
	}
	result, form := loadagainst.Analyze(rec, f.sides.gate), formFlags{report.Form{JSON: f.json}}
	if err := loadagainst.Print(cmd.OutOrStdout(), result, form.form(cmd)); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	return gate(cmd, result, nil)
}

// searchBoth finds the highest rate of each side that keeps the objectives.
func (f *loadFlags) searchBoth(cmd *cobra.Command, sides *loadagainst.Sides, plan load.Plan) error {
	plan.Pacer = load.Constant{Rate: f.rate.rate, For: time.Second} // a turn
	found, err := sides.Search(cmd.Context(), plan, f.objectives, func(side string, t load.Try) {
		say(cmd, "%s, %.0f/s: %s", side, t.Result.Rate, cmp.Or(t.Missed, "holds"))
	})
	if err != nil {
		return err
	}
	if f.json {
		return report.WriteJSON(cmd.OutOrStdout(), map[string]loadagainst.Capacity{"old": found[0], "new": found[1]})
	}
	for i, c := range found {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s holds up to %.0f requests a second; above, %s\n", sides[i].Name, f.slo, c.Rate, c.Missed)
	}
	return nil
}

// openSides starts both servers, if they are to be started, and opens connections to them. fail is
// told if one of them ends.
func (f *loadFlags) openSides(cmd *cobra.Command, fail context.CancelCauseFunc, target *load.Target, sides *loadagainst.Sides) (err error) {
	servers := strings.Split(f.server+",", ",")
	for i, against := range []string{f.sides.against, ""} {
		side, to := &sides[i], new(*target.Request.URL)
		switch {
		case f.sides.serve != "":
			side.Name = cmp.Or(against, "the working tree")
			say(cmd, "starting %s", side.Name)
			to.Host, err = side.Serve(cmd.Context(), fail, f.sides.serve, against)
		case against != "":
			to, err = load.ParseURL(against)
		}
		side.Name = cmp.Or(side.Name, to.Redacted(), "--against")
		if err == nil {
			err = side.Open(cmd.Context(), moved(target, to), servers[i])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", side.Name, err)
		}
	}
	return nil
}

// moved is the target on another server. Where there is one request and the URL has a path other
// than /, that takes the place of the request's.
func moved(t *load.Target, to *url.URL) *load.Target {
	out := *t
	out.Requests = slices.Clone(t.All())
	for i := range out.Requests {
		u := *out.Requests[i].URL
		if len(t.Requests) == 0 && strings.Trim(to.Path, "/") != "" {
			u = *to
		}
		u.Scheme, u.Host = to.Scheme, to.Host
		out.Requests[i].URL = &u
	}
	return &out
}

// record reads what --out has, to go on with it, or begins a record.
func (f *loadFlags) record(sides *loadagainst.Sides, turns *loadagainst.Turns) (*record.Record, error) {
	rec := loadagainst.NewRecord(sides, turns, machine.Read(200*time.Millisecond), f.duration)
	if info, err := os.Stat(f.sides.out); err != nil || info.Size() == 0 {
		return rec, nil
	}
	old, err := record.Load(f.sides.out)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	if !slices.Equal(old.Run.Patterns, rec.Run.Patterns) {
		return nil, hinted(fmt.Errorf("--out has another comparison: %s", strings.Join(old.Run.Patterns, ", ")), "give --out another file")
	}
	old.Run.Budget = rec.Run.Budget
	return old, nil
}

// showAgainst prints a comparison of two servers, or makes its page, if the record is of one.
func showAgainst(cmd *cobra.Command, rec *record.Record, page string, form report.Form) (printed bool, err error) {
	if len(rec.Rows) != 2 || rec.Rows[0].Stage != loadagainst.Stage {
		return false, nil
	}
	result := loadagainst.Analyze(rec, nil)
	if page != "" {
		return true, writeFile(page, func(w io.Writer) error { return loadagainst.HTML(w, result) })
	}
	return true, loadagainst.Print(cmd.OutOrStdout(), result, form)
}
