package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/record"
	"postage/report"
	"postage/stats"
)

func (p program) doctorCommand() *cobra.Command {
	var calibrate, asJSON bool
	var comparisons int
	var stage, saved string
	var budget time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether figures from this machine can be trusted",
		Long: `Describes the machine and says in plain words whether figures from it can be trusted,
and why not. With --calibrate it measures that: it makes many comparisons whose result is
known, through the very same code as ` + "`run`" + `. Each compares a contender of a stage with itself
and with itself slowed by 1, 2, 3 or 5%, and the verdicts are counted. ` + "`run`" + ` then says the
smallest slowdown that is found.`,
		Example: p.example().expand(`  postage doctor
  postage doctor --calibrate --comparisons 60
  postage doctor --calibrate --stage {stage}
  postage doctor --calibrate --record FILE`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !calibrate {
				for _, flag := range []string{"comparisons", "budget", "stage", "record"} {
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
			if saved != "" {
				return blockValues(cmd.OutOrStdout(), saved)
			}
			if comparisons < 1 {
				return fmt.Errorf("--comparisons %d: must be at least 1", comparisons)
			}
			if budget <= 0 {
				budget = time.Duration(comparisons) * comparisonBudget
			}
			return p.runCalibration(cmd, stage, comparisons, budget, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&calibrate, "calibrate", false, "measure false alarms, coverage, and which slowdown is found")
	f.IntVar(&comparisons, "comparisons", enoughComparisons, "how many comparisons --calibrate makes")
	f.StringVar(&stage, "stage", "", "the stage to calibrate (default the first)")
	f.DurationVar(&budget, "budget", 0, "total time for --calibrate (default "+comparisonBudget.String()+" a comparison)")
	f.StringVar(&saved, "record", "", "analyse a calibration's record in `file` and measure nothing: what each kind of block value finds")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	for _, flag := range []string{"comparisons", "budget", "stage", "json"} {
		cmd.MarkFlagsMutuallyExclusive("record", flag)
	}
	return cmd
}

// enoughComparisons without a false alarm show that at most 1% are false alarms: 0.99^368 is 2.5%.
const enoughComparisons = 368

// comparisonBudget is what a case of `postage run` may get of its default budget.
const comparisonBudget = 6 * time.Second

// describe says what the machine is and what that means for figures.
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
		add("The machine is busy with something else. Every figure will be slower and less certain: stop the other work first.")
	}
	if m.StealPercent != nil && *m.StealPercent > 1 {
		add("The hypervisor gives %.1f%% of the processor time to other guests. Intervals get wider.", *m.StealPercent)
	}
	switch m.Virtualised {
	case "":
		add("It is not known whether the machine is virtual.")
	case "none":
	default:
		name := " (" + m.Virtualised + ")"
		if m.Virtualised == "yes" {
			name = ""
		}
		add("The machine is virtual%s: other guests share its caches and affect its clock rate. Ratios measured in one run hold; times in ns may differ tomorrow.", name)
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
		return "Yes for ratios within one run, which have intervals. Compare times in ns only within the same run. `postage doctor --calibrate` measures how far to trust the verdicts."
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

// calibrated is the case whose baseline a calibration of the stage takes: its first headline
// case, else its first; of the first stage for "". nil if there is no such stage.
func (p program) calibrated(stage string) (first *lab.Entry) {
	for _, e := range lab.Entries(p.suites) {
		if stage != "" && e.Stage != stage || e.Role != record.RoleBaseline || e.Contender.NotPossible != "" {
			continue
		}
		if e.Case.Headline {
			return &e
		}
		if first == nil {
			first = &e
		}
	}
	return first
}

func (p program) calibrationSuite(stage string, comparisons int) lab.Suite {
	if e := p.calibrated(stage); e != nil {
		return lab.CalibrationSuite(e.Case, e.Contender, comparisons)
	}
	return lab.Suite{}
}

// calibrationPrecision is so narrow that a calibration uses its whole budget.
const calibrationPrecision = 0.005

func (p program) runCalibration(cmd *cobra.Command, stage string, comparisons int, budget time.Duration, asJSON bool) error {
	of := p.calibrated(stage)
	if of == nil {
		return hinted(fmt.Errorf("--stage %s: there is no such stage", stage), "`postage list` shows them")
	}
	stage = of.Stage
	entries := lab.Entries([]lab.Suite{p.calibrationSuite(stage, comparisons)})
	plan := lab.NewPlan(entries, budget)
	rec, out, err := newRun(plan, record.Run{
		Patterns: []string{"doctor --calibrate --stage " + stage}, Seed: record.DefaultSeed, Precision: calibrationPrecision,
		Budget: budget, Commit: commit(cmd.Context()),
	}, "", "calibration-")
	if err != nil {
		return err
	}
	say(cmd, "postage: %d comparisons of %s with itself and with itself slowed, about %v", comparisons, of.Row(), budget)
	interrupted := conduct(cmd, plan.All(), rec, out, 0, "--comparisons", strconv.Itoa(comparisons), "--stage", stage)
	if interrupted != nil && !errors.Is(interrupted, lab.ErrInterrupted) {
		return interrupted
	}
	c := lab.Calibrate(rec)
	if c.Comparisons == 0 {
		return errors.Join(interrupted, errors.New("calibrate: no comparison was finished; the record says why: "+out))
	}
	result := newCalibration(stage, c)
	line := calibrationLine(result, budget/time.Duration(comparisons))
	if err := keepCalibration(stage, &rec.Machine, line); err != nil {
		return err
	}
	if asJSON {
		return errors.Join(interrupted, doctorJSON(cmd.OutOrStdout(), &rec.Machine, result))
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "comparisons                    %d of %d, %g blocks each (median), interval ±%.2f%% (median), duty %.0f%%\n",
		c.Comparisons, comparisons, c.Blocks, 100*c.HalfWidth, 100*lab.Duty(rec))
	fmt.Fprintf(w, "equal things called different  %s\n", rateText(result.FalseAlarms))
	fmt.Fprintf(w, "  their interval misses 1      %s\n", rateText(result.Misses))
	for _, s := range result.Slowdowns {
		fmt.Fprintf(w, "%g%% slowdown found              %s\n", 100*s.By, rateText(s.Found))
	}
	fmt.Fprintf(w, "found in 95%% by their intervals  %.2f%%\n", 100*c.Needed)
	fmt.Fprintf(w, "record                         %s\n%s\n", out, line)
	return interrupted
}

func newCalibration(stage string, c lab.Calibration) *report.Calibration {
	result := &report.Calibration{
		Stage: stage, Comparisons: c.Comparisons, FalseAlarms: rate(c.FalseAlarms, c.Comparisons), Misses: rate(c.Misses, c.Comparisons),
		Slowdowns: []report.Slowdown{}, Blocks: c.Blocks, HalfWidth: c.HalfWidth,
	}
	for i, by := range lab.InjectedSlowdowns {
		if c.Slowed[i] == 0 {
			continue
		}
		found := rate(c.Found[i], c.Slowed[i])
		result.Slowdowns = append(result.Slowdowns, report.Slowdown{By: by, Found: found})
		if found.Value >= 0.95 && result.Smallest == nil {
			result.Smallest = &by
		} else if found.Value < 0.95 {
			result.Smallest = nil // a larger one must be found as well
		}
	}
	return result
}

// calibrationLine says in one line what verdicts are worth here.
func calibrationLine(r *report.Calibration, each time.Duration) string {
	finds := "no slowdown of up to 5% is found in 95% of comparisons"
	if r.Smallest != nil {
		finds = fmt.Sprintf("a slowdown of %g%% is found in 95%% of comparisons", 100**r.Smallest)
	}
	return fmt.Sprintf("%s on this machine, %v a comparison: %s, equal things are called different in at most %.1f%% (%d of %d)",
		r.Stage, each.Round(time.Second/10), finds, 100*r.FalseAlarms.High, r.FalseAlarms.Count, r.Comparisons)
}

// keptCalibration is the line of a stage's last calibration and the machine it is of.
type keptCalibration struct{ Machine, Line string }

func calibrationFile(stage string) string {
	return filepath.Join(filepath.Dir(runsFolder), "calibration-"+stage+".json")
}

func keepCalibration(stage string, m *record.Machine, line string) error {
	text, err := json.Marshal(keptCalibration{m.Identity(), line})
	if err != nil {
		return err
	}
	return writeFile(calibrationFile(stage), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// sayCalibrations prints what calibrations of the entries' stages found on this machine.
func sayCalibrations(cmd *cobra.Command, entries []lab.Entry, m *record.Machine) {
	said := map[string]bool{}
	for _, e := range entries {
		if said[e.Stage] {
			continue
		}
		said[e.Stage] = true
		var kept keptCalibration
		text, err := os.ReadFile(calibrationFile(e.Stage))
		if err == nil && json.Unmarshal(text, &kept) == nil && kept.Machine == m.Identity() {
			say(cmd, "postage: calibrated: %s", kept.Line)
		}
	}
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
