package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/feature/show"
	"postage/internal/verdict"
)

// compareFlags are the flags of `postage compare`.
type compareFlags struct {
	formFlags
	force, gate bool
	thresholds  string
}

func (p program) compareCommand() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare [RUN | OLD NEW]",
		Short: "Compare two saved runs, or the two sides of one, row by row",
		Long: `A single run, the latest if none is given, is one that was made with run --against: each
row is compared with its old version, which took part in the same rounds. A row is
regressed only if the change is beyond chance, over all rows together, and beyond the
threshold; it passed only if any slowdown must be under the threshold; else it is
inconclusive. The threshold of a time is 3%, or what could be seen of the row if that is
more, at most 10%, unless --thresholds has one; allocations, bytes and sizes are exact.

--gate fails if a row of such a run regressed. Exit status: 0 all rows passed, 1 some row
regressed, 2 there is no answer (the run is missing, damaged, empty or without --against, or
lost rows that the revision had), 3 inconclusive: no row regressed, but some may have, as
they had too little time or vary too much; the output says which --budget would do.

Of two runs it prints how the time of each row changed, as a multiple of the baseline's
in the same run, so that a slower machine cancels out. That is advice, which --gate
refuses: runs of the same code differ too, and how often is printed with it.

Runs of different machines are refused: --force compares them anyway.`,
		Example: p.suites.expand(`  postage compare before.txt after.txt
  postage compare before.txt latest --markdown
  postage compare run.txt --gate
  postage compare --gate --markdown >> "$GITHUB_STEP_SUMMARY"
  postage compare laptop.txt server.txt --force`),
		Args:              func(cmd *cobra.Command, args []string) error { return flags.check(args) },
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return compare(cmd, args, &flags)
		},
	}
	flags.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&flags.gate, "gate", false, "fail if a row regressed; Markdown is for a job's summary")
	f.BoolVar(&flags.force, "force", false, "compare runs of different machines")
	f.StringVar(&flags.thresholds, "thresholds", "", thresholdsUsage)
	return cmd
}

// check refuses two runs for a gate, and more than two.
func (f *compareFlags) check(args []string) error {
	switch {
	case len(args) > 2:
		return hinted(fmt.Errorf("want two runs, an old one and a new one, not %d", len(args)),
			"`postage compare before.txt after.txt`")
	case f.gate && len(args) == 2:
		return hinted(errors.New("two runs cannot be gated: they did not take turns, and the difference may not come from the code"),
			"gate `postage run --against REVISION`; `postage compare` prints how the two differ, as advice")
	}
	return nil
}

// compare prints how two runs, or the sides of one, differ.
func compare(cmd *cobra.Command, args []string, flags *compareFlags) error {
	limits, err := loadThresholds(flags.thresholds, verdict.DefaultThresholds())
	if err != nil {
		return err
	}
	c, err := compareArguments(args, limits)
	switch {
	case err != nil:
		return err
	case flags.gate:
		return printGate(cmd, c, flags.form(cmd))
	case c.AcrossMachines && !flags.force:
		return hinted(fmt.Errorf("the runs are of different machines: %s; %s", c.Old.Machine.Identity(), c.New.Machine.Identity()),
			"`postage show` prints the ratios of each; --force compares these anyway")
	}
	return show.Changes(cmd.OutOrStdout(), c, flags.form(cmd))
}

// compareArguments compares the two named runs, or the two sides of the one.
func compareArguments(args []string, limits verdict.Thresholds) (*verdict.Changes, error) {
	if len(args) == 2 {
		return compareRuns(args, limits)
	}
	name := strings.Join(args, "")
	rec, err := loadRun(name)
	if err != nil {
		return nil, err
	}
	if !verdict.IsAgainst(rec) {
		return nil, hinted(fmt.Errorf("%s has one side only: it was made without --against", cmp.Or(name, "the latest run")),
			"`postage run --against REVISION`; or `postage compare before.txt after.txt`, as advice")
	}
	c := verdict.ComparePaired(rec, limits)
	if len(c.Rows)+c.Untimed == 0 && !verdict.IsSame(rec) {
		return nil, hinted(errors.New("the run has no row with figures of both sides"),
			"`postage show` prints what a run has")
	}
	return c, nil
}

// compareRuns loads two runs and compares them. It is an error if they have no row
// in common.
func compareRuns(names []string, limits verdict.Thresholds) (*verdict.Changes, error) {
	runs, err := loadRuns(names)
	if err != nil {
		return nil, err
	}
	c := verdict.CompareRecords(runs[0], runs[1], limits)
	if len(c.Rows) == 0 {
		return nil, hinted(errors.New("the two runs have no row in common that both have figures of"),
			"`postage show` prints what a run has")
	}
	return c, nil
}
