package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/build"
	"postage/internal/report"
	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// exitStatus ends a command with an exit code; the output says why.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit codes of a gate beside 0 and exitUsage.
const (
	exitRegressed    exitStatus = 1
	exitInconclusive exitStatus = 3
)

const thresholdsUsage = "YAML `file` of thresholds: time, allocs, bytes, size (default time: 3%, or what can be seen; all else 0)"

func (p program) gateCommand() *cobra.Command {
	var flags struct {
		thresholds, junit string
		json, markdown    bool
	}
	cmd := &cobra.Command{
		Use:   "gate [RUN]",
		Short: "Fail if a run against a revision found something slower",
		Long: `Gates a run, the latest if none is given, that was made with run --against: each row against
its old version, which took turns with it. Times are gated beyond chance and beyond the
threshold; allocations, bytes and sizes exactly. The threshold of a time is 3%, or what
could be seen of the row if that is more, at most 10%, unless --thresholds has one.

Two runs that did not take turns cannot be gated: the difference may not come from the
code. postage compare prints how they differ, as advice.

Exit status: 0 all rows passed, 1 some row regressed, 2 there is no answer (the run is
missing, damaged, empty or without --against, or lost rows that the revision had),
3 inconclusive: no row regressed, but some may have, as they had too little time or vary
too much; the output says which --budget would do.`,
		Example: p.example().expand(`  postage run {case} --against main && postage gate
  postage gate run.txt --thresholds gate.yaml --junit gate.xml
  postage gate run.txt --markdown >> "$GITHUB_STEP_SUMMARY"`),
		Args:              cobra.MatchAll(atMostTwoRuns, oneSided),
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			limits, err := loadThresholds(flags.thresholds)
			if err != nil {
				return err
			}
			c, err := compareArguments(args, limits)
			if err != nil {
				return err
			}
			if err := answers(cmd, c); err != nil {
				return err
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
			return gateStatus(c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.thresholds, "thresholds", "", thresholdsUsage)
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.BoolVar(&flags.markdown, "markdown", false, "print Markdown, for a job's summary")
	f.StringVar(&flags.junit, "junit", "", "write JUnit XML to `file` as well")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown")
	return cmd
}

// gateStatus is the error that decides a gate's exit code.
func gateStatus(c *verdict.Changes) error {
	switch c.Outcome() {
	case verdict.Regressed:
		return exitRegressed
	case verdict.Inconclusive:
		return exitInconclusive
	}
	return nil
}

// oneSided refuses two runs, which cannot be gated.
func oneSided(_ *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	against := "REVISION"
	if rec, err := loadRun(args[0]); err == nil && rec.Run.Commit != "" {
		against = strings.TrimSuffix(rec.Run.Commit, build.Dirty)
	}
	return hinted(errors.New("two runs cannot be gated: they did not take turns, and the difference may not come from the code"),
		"gate `postage run --against "+against+"`; `postage compare` prints how the two differ, as advice")
}

// answers is an error if the gate has no answer for some row, which had figures in the old code
// only. A row that the old revision did not have, or that
// failed there, cannot have become slower.
func answers(cmd *cobra.Command, c *verdict.Changes) error {
	lost := 0
	for _, u := range c.Unmatched {
		say(cmd, "%s: %s", u.Row, u.Reason)
		if u.Old {
			lost++
		}
	}
	if lost > 0 {
		return hinted(fmt.Errorf("%s with figures in the old code only", words.Counted(lost, "row")), "`postage show` says why")
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
