package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/words"
	"postage/record"
	"postage/report"
	"postage/verdict"
)

// exitStatus ends a command with an exit code; the output has said why already.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit codes of a gate beside 0 and exitUsage.
const (
	exitRegressed    exitStatus = 1
	exitInconclusive exitStatus = 3
)

const thresholdsUsage = "YAML `file` of thresholds: time, allocs, bytes, size (default time: 5%, all else 0)"

// gateFlags are what `postage gate` can be told.
type gateFlags struct {
	thresholds, junit string
	json, markdown    bool
	confirm           time.Duration
}

func (p program) gateCommand() *cobra.Command {
	var flags gateFlags
	cmd := &cobra.Command{
		Use:   "gate BASELINE [NEW]",
		Short: "Fail if a run is slower than a saved one",
		Long: `Compares a run, the latest if none is given, with a baseline for CI. Times are gated beyond
chance, beyond the threshold, and beyond what the runs' own controls differ by;
allocations, bytes and sizes exactly. Given alone, a run that was made with
run --against is gated by its own old side.

A time that regressed is measured again, in fresh processes, and counts only if that
says so too. Where git has the commit that the baseline was measured at, its code is
built and takes turns with the new one there. That takes this very program to have
measured the run, on this machine; where it did not, the gate says that it could not
confirm, and the row stays regressed.

Exit status: 0 all rows passed, 1 some row regressed, 2 there is no answer (a run is
missing, damaged or empty, rows are in one run only, the runs are of different
machines, seeds or GOMAXPROCS), 3 inconclusive: no row regressed, but some may have.`,
		Example: `  postage gate baseline.txt
  postage gate baseline.txt new.txt --thresholds gate.yaml --junit gate.xml
  postage gate baseline.txt --markdown >> "$GITHUB_STEP_SUMMARY"`,
		Args:              baselineAndRun,
		ValidArgsFunction: completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return p.gate(cmd, args, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.thresholds, "thresholds", "", thresholdsUsage)
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.BoolVar(&flags.markdown, "markdown", false, "print Markdown, for a job's summary")
	f.DurationVar(&flags.confirm, "confirm", time.Minute, "total time for measuring again what regressed, 0 for not at all")
	f.StringVar(&flags.junit, "junit", "", "write JUnit XML to `file` as well")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

func baselineAndRun(_ *cobra.Command, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return hinted(fmt.Errorf("want a baseline, and a run if it is not the latest, not %d runs", len(args)), "`postage gate baseline.txt`")
	}
	return nil
}

// gateArguments compares the runs that a gate is given.
func gateArguments(args []string, limits verdict.Thresholds) (*verdict.Changes, error) {
	if len(args) == 2 {
		return compareRuns(args[0], args[1], limits)
	}
	rec, err := loadRun(args[0])
	if err != nil {
		return nil, err
	}
	if verdict.IsAgainst(rec) {
		return compareArguments(args, limits)
	}
	return compareRuns(args[0], "", limits)
}

func (p program) gate(cmd *cobra.Command, args []string, flags gateFlags) error {
	limits, err := loadThresholds(flags.thresholds)
	if err != nil {
		return err
	}
	c, err := gateArguments(args, limits)
	if err != nil {
		return err
	}
	if c.AcrossMachines {
		return otherMachine(c, "measure the baseline on the machine that the gate runs on")
	}
	if c.Unlike != "" {
		return hinted(errors.New(c.Unlike), "measure both with the same --seed and --cpu")
	}
	if err := ungated(cmd, c); err != nil {
		return err
	}
	if flags.confirm > 0 {
		if err := p.confirm(cmd, c, flags.confirm); err != nil {
			return err
		}
	}
	if flags.junit != "" {
		if err := writeFile(flags.junit, func(w io.Writer) error { return report.GateJUnit(w, c) }); err != nil {
			return err
		}
	}
	switch {
	case flags.json:
		err = report.ChangesJSON(cmd.OutOrStdout(), c)
	case flags.markdown:
		err = report.GateMarkdown(cmd.OutOrStdout(), c)
	default:
		err = report.ChangesTerminal(cmd.OutOrStdout(), c, colorful(cmd))
	}
	if err != nil {
		return err
	}
	switch c.Outcome() {
	case verdict.Regressed:
		return exitRegressed
	case verdict.Inconclusive:
		return exitInconclusive
	}
	return nil
}

// ungated is an error if the gate could not answer for all that was measured: if a row has
// figures on one side only, or a case none that its times could be taken against.
func ungated(cmd *cobra.Command, c *verdict.Changes) error {
	lost := 0
	for _, u := range c.Unmatched {
		say(cmd, "%s: %s", u.Row, u.Reason)
		// What the old revision did not have, or not working, cannot have become slower since.
		if u.Old || !c.Paired {
			lost++
		}
	}
	if lost > 0 {
		return hinted(fmt.Errorf("%s with figures in one of the runs only", words.Counted(lost, "row")),
			"measure the same rows in both, or the baseline anew if rows came or went")
	}
	gated := map[string]bool{}
	for _, r := range c.Rows {
		gated[r.New.Row.Case] = gated[r.New.Row.Case] || r.Time != verdict.NotGated
	}
	for _, name := range slices.Sorted(maps.Keys(gated)) {
		if !gated[name] {
			return hinted(fmt.Errorf("%s: no time can be gated, as neither its baseline nor three rows have figures in both runs", name),
				"`postage show` says why a row has none")
		}
	}
	return nil
}

// loadThresholds reads a file of thresholds; the default ones for "".
func loadThresholds(name string) (verdict.Thresholds, error) {
	if name == "" {
		return verdict.DefaultThresholds(), nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return verdict.Thresholds{}, fmt.Errorf("--thresholds: %w", err)
	}
	limits, err := verdict.ParseThresholds(text)
	if err != nil {
		return limits, hinted(fmt.Errorf("%s: %w", name, err), "such as `time: 5%`, `allocs: 0`, one a line")
	}
	return limits, nil
}

// writeFile makes a file with what write writes: all of it, or the file stays as it was.
func writeFile(name string, write func(io.Writer) error) error {
	var all bytes.Buffer
	if err := write(&all); err != nil {
		return err
	}
	// A device or a pipe is written to, and a link is followed, not replaced.
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, all.Bytes(), 0o644)
	}
	err := record.Replace(name, func(w io.Writer) error {
		_, err := w.Write(all.Bytes())
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
