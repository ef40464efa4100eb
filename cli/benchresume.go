package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/verdict"
	"postage/record"
)

// benchRun is a run of benchmarks to resume.
type benchRun struct {
	name     string // the record's file
	rec      *record.Record
	counts   *verdict.CountedRun // in its place, with --count
	budget   time.Duration
	packages []string
}

// whatIsMeasured are the flags that say what a run measures, besides what its sides differ in. The
// run's record keeps them.
var whatIsMeasured = []string{"bench", "cpu", "all"}

// arguments returns the packages and flags that a run's record keeps.
func (flags *benchFlags) arguments(cmd *cobra.Command, packages []string) []string {
	kept := slices.Clone(packages)
	for _, name := range whatIsMeasured {
		value := cmd.Flags().Lookup(name).Value.String()
		if name == "cpu" {
			value = strings.Trim(value, "[]")
		}
		if value != "" && value != "false" {
			kept = append(kept, "-"+name+"="+value)
		}
	}
	return kept
}

// benchToResume loads the record and sets the flags as they were.
func benchToResume(cmd *cobra.Command, packages []string, flags *benchFlags) (*benchRun, error) {
	for _, name := range append([]string{"against", "vary", "layouts", "seed", "precision", "out", "list"}, whatIsMeasured...) {
		if cmd.Flags().Changed(name) || len(packages) > 0 {
			return nil, hinted(errors.New("--resume takes its settings from the record: it cannot be combined with packages or flags that say what to measure"),
				"it can be combined with --budget, --timeout, --gate, --thresholds, --json and --markdown")
		}
	}
	of := &benchRun{}
	var arguments []string
	var err error
	if flags.count {
		of.name = flags.resume
		if of.counts, err = loadCounts(of.name); err != nil {
			return nil, err
		}
		arguments, flags.vary = of.counts.Arguments, of.counts.Vary
	} else {
		if of.name, of.rec, of.budget, err = unfinished(cmd, flags.resume, flags.budget); err != nil {
			return nil, err
		}
		if !isBench(of.rec) {
			return nil, hinted(fmt.Errorf("%s is not a record of `postage bench`", of.name), "postage run --resume "+flags.resume)
		}
		arguments, flags.vary, flags.layouts = of.rec.Run.Patterns, of.rec.Run.Vary, max(1, of.rec.Run.Layouts)
	}
	for _, argument := range arguments {
		name, value, isFlag := strings.Cut(strings.TrimPrefix(argument, "-"), "=")
		if !isFlag || !strings.HasPrefix(argument, "-") {
			of.packages = append(of.packages, argument)
		} else if err := cmd.Flags().Set(name, value); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", of.name, argument, err)
		}
	}
	return of, nil
}
