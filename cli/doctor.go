package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/record"
	"postage/report"
	"postage/stats"
	"postage/verdict"
)

func (p program) doctorCommand() *cobra.Command {
	var calibrate, asJSON bool
	var comparisons int
	var budget time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether figures from this machine can be trusted",
		Long: `Describes the machine and says in plain words whether figures from it can be trusted,
and why not. With --calibrate it finds out: it makes many comparisons whose truth is
known, through the very same code as ` + "`run`" + `. Each compares a contender with itself and
with itself slowed by 5%, and the verdicts are counted.`,
		Example: `  postage doctor
  postage doctor --calibrate --comparisons 100`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !calibrate {
				for _, flag := range []string{"comparisons", "budget"} {
					if cmd.Flags().Changed(flag) {
						return hinted(fmt.Errorf("--%s goes with --calibrate", flag), "`postage doctor --help` shows the flags")
					}
				}
				machine := record.ThisMachine(time.Second)
				if asJSON {
					return doctorJSON(cmd.OutOrStdout(), &machine, nil)
				}
				_, err := io.WriteString(cmd.OutOrStdout(), describe(&machine))
				return err
			}
			if comparisons < 1 {
				return fmt.Errorf("--comparisons %d: must be at least 1", comparisons)
			}
			if budget <= 0 {
				budget = time.Duration(comparisons) * comparisonBudget
			}
			return p.runCalibration(cmd, comparisons, budget, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&calibrate, "calibrate", false, "measure the false-alarm rate and the detection of a 5% slowdown")
	f.IntVar(&comparisons, "comparisons", 100, "how many comparisons --calibrate makes")
	f.DurationVar(&budget, "budget", 0, "total time for --calibrate (default "+comparisonBudget.String()+" a comparison)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// comparisonBudget is what a case of `postage run` may get of its default budget.
const comparisonBudget = 6 * time.Second

// describe tells what the machine is and what that means for figures.
func describe(m *record.Machine) string {
	var b strings.Builder
	line := func(what, is string) { fmt.Fprintf(&b, "%-22s %s\n", what, is) }
	line("processor", cmp.Or(m.CPU, "n/a"))
	line("cores", strconv.Itoa(m.Cores))
	line("memory", memoryText(m.MemoryBytes))
	line("system", strings.TrimSpace(m.GOOS+"/"+m.GOARCH+" "+m.Kernel))
	line("virtualised", cmp.Or(m.Virtualised, "n/a"))
	line("frequency governor", cmp.Or(m.Governor, "n/a"))
	line("load, 1 minute", number(m.Load, "%.2f"))
	line("steal", number(m.StealPercent, "%.1f%% of processor time went to other guests"))
	line("pressure", number(m.PressurePercent, "%.1f%% of the time some task waited for a processor"))
	line("hardware counters", cmp.Or(m.Counters, "n/a"))
	line("Go", m.Go)
	b.WriteByte('\n')
	for _, finding := range findings(m) {
		fmt.Fprintf(&b, "- %s\n", finding)
	}
	b.WriteByte('\n')
	b.WriteString(conclusion(m) + "\n")
	return b.String()
}

// findings are the machine's properties that bear on figures, in plain words.
func findings(m *record.Machine) []string {
	var f []string
	add := func(format string, a ...any) { f = append(f, fmt.Sprintf(format, a...)) }
	if busy(m) {
		add("The machine is busy with something else. Every figure will be slower and less certain: stop that first.")
	}
	if m.StealPercent != nil && *m.StealPercent > 1 {
		add("The hypervisor gives %.1f%% of the processor time to other guests. Intervals get wider.", *m.StealPercent)
	}
	switch m.Virtualised {
	case "":
		add("Whether the machine is virtual could not be found out.")
	case "none":
	default:
		name := " (" + m.Virtualised + ")"
		if m.Virtualised == "yes" {
			name = ""
		}
		add("The machine is virtual%s: neighbours that cannot be seen share its caches and its clock rate. Ratios measured in one run hold; times in ns are those of today.", name)
	}
	switch m.Governor {
	case "", "performance":
		if m.Governor == "" {
			add("The frequency governor cannot be seen: the clock rate may change during a run. Contenders share every change, so ratios hold.")
		}
	default:
		add("The frequency governor is %q: the clock rate changes with load. `cpupower frequency-set -g performance` makes times in ns steadier.", m.Governor)
	}
	if m.Cores < 2 {
		add("There is one core: the garbage collector and the operating system take turns with what is measured.")
	}
	if m.Counters != "available" {
		add("Hardware counters: %s. Cycles and instructions are not shown; time is what is measured.", cmp.Or(m.Counters, "n/a"))
	} else {
		add("Hardware counters can be opened; Postage does not use them.")
	}
	return f
}

func busy(m *record.Machine) bool {
	return m.Load != nil && *m.Load > 0.5*float64(m.Cores) || m.PressurePercent != nil && *m.PressurePercent > 10
}

// conclusion is the answer in a sentence.
func conclusion(m *record.Machine) string {
	stolen := m.StealPercent != nil && *m.StealPercent > 5
	switch {
	case busy(m) || stolen:
		return "Not now: ratios will be honest but imprecise, and times in ns mean little, until the machine is quieter."
	case m.Virtualised != "none" || m.Governor != "performance":
		return "Yes for ratios within one run, which carry their intervals. Times in ns: only beside others of the same run. `postage doctor --calibrate` measures how far to trust the verdicts."
	}
	return "Yes, for ratios and for times in ns. `postage doctor --calibrate` measures how far to trust the verdicts."
}

func doctorJSON(w io.Writer, m *record.Machine, c *report.Calibration) error {
	return report.DoctorJSON(w, m, findings(m), conclusion(m), c)
}

func rate(k, n int) report.Rate {
	low, high := stats.ClopperPearson(k, n, 0.95)
	return report.Rate{Count: k, Value: float64(k) / float64(n), Low: low, High: high}
}

func rateText(r report.Rate) string {
	return fmt.Sprintf("%5.1f%%  (95%% interval %.1f%% to %.1f%%, %d)", 100*r.Value, 100*r.Low, 100*r.High, r.Count)
}

// calibrationSuite makes its comparisons of the first headline case's baseline.
func (p program) calibrationSuite(comparisons int) lab.Suite {
	for _, e := range lab.Entries(p.suites) {
		if e.Case.Headline && e.Role == record.RoleBaseline {
			return lab.CalibrationSuite(e.Contender, comparisons)
		}
	}
	return lab.Suite{}
}

func (p program) runCalibration(cmd *cobra.Command, comparisons int, budget time.Duration, asJSON bool) error {
	entries := lab.Entries([]lab.Suite{p.calibrationSuite(comparisons)})
	precision := 0.01
	plan := lab.NewPlan(entries, budget, precision)
	rec, out, err := newRun(plan, record.Run{
		Patterns: []string{"doctor --calibrate"}, Seed: record.DefaultSeed, Precision: precision, Budget: budget, Commit: commit(cmd.Context()),
	}, "", "calibration-")
	if err != nil {
		return err
	}
	say(cmd, "postage: %d comparisons of a contender with itself and with itself slowed by 5%%, about %v", comparisons, budget)
	interrupted := conduct(cmd, plan.Entries, rec, out, "--comparisons", strconv.Itoa(comparisons))
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	c := lab.Calibrate(rec)
	if c.Comparisons == 0 {
		return errors.Join(interrupted, errors.New("calibrate: no comparison was finished; the record says why: "+out))
	}
	result := &report.Calibration{
		Comparisons: c.Comparisons, FalseAlarms: rate(c.FalseAlarms, c.Comparisons), Misses: rate(c.Misses, c.Comparisons), Found: rate(c.Found, c.Comparisons),
		Blocks: c.Blocks, HalfWidth: c.HalfWidth,
	}
	if asJSON {
		return errors.Join(interrupted, doctorJSON(cmd.OutOrStdout(), &rec.Machine, result))
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "comparisons                    %d of %d, %g blocks each (median), interval ±%.2f%% (median)\n", c.Comparisons, comparisons, c.Blocks, 100*c.HalfWidth)
	fmt.Fprintf(w, "equal things called different  %s\n", rateText(result.FalseAlarms))
	fmt.Fprintf(w, "  their interval misses 1      %s\n", rateText(result.Misses))
	fmt.Fprintf(w, "5%% slowdown found              %s\n", rateText(result.Found))
	fmt.Fprintf(w, "record                         %s\n", out)
	for _, advice := range calibrationAdvice(result, c, budget) {
		fmt.Fprintf(w, "- %s\n", advice)
	}
	return interrupted
}

// What a calibration is held to.
const (
	alarmLimit = 0.06 // upper bound of the false-alarm rate
	foundLimit = 0.80
)

// calibrationAdvice says what it would take where a calibration misses its limits.
func calibrationAdvice(r *report.Calibration, c lab.Calibration, budget time.Duration) []string {
	var advice []string
	if r.FalseAlarms.High > alarmLimit {
		s := fmt.Sprintf("The false-alarm rate may be as high as %.1f%%, above the %.0f%% aimed at.", 100*r.FalseAlarms.High, 100*alarmLimit)
		if low := 100; c.Comparisons < low {
			s += fmt.Sprintf(" %d comparisons are too few to show less: take %d.", c.Comparisons, low)
		}
		advice = append(advice, s)
	}
	if r.Found.Value < foundLimit {
		// To be called, 5% less the half-width must clear the margin; widths shrink with
		// the square root of the blocks.
		want := 0.05 - verdict.Margin(0.01) - 0.01
		factor := max(2, (c.HalfWidth/want)*(c.HalfWidth/want))
		advice = append(advice, fmt.Sprintf("The 5%% slowdown was found in fewer than %.0f%%: intervals are ±%.1f%% here. About %.0f times the budget (--budget %v) should do.",
			100*foundLimit, 100*c.HalfWidth, factor, time.Duration(factor*float64(budget)).Round(time.Minute)))
	}
	if advice == nil {
		advice = append(advice, "Verdicts from this machine can be trusted at this budget.")
	}
	return advice
}

func memoryText(bytes int64) string {
	if bytes == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

func number(x *float64, format string) string {
	if x == nil {
		return "n/a"
	}
	return fmt.Sprintf(format, *x)
}
