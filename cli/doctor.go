package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/sys/machine"
	"postage/record"
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
and with itself slowed by 1, 2, 3 or 5%, and the verdicts are counted. Ctrl-C ends it with what was
measured so far.`,
		Example: p.suites.expand(`  postage doctor
  postage doctor --calibrate --comparisons 60
  postage doctor --calibrate --stage {stage}
  postage doctor --calibrate --record FILE`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !calibrate {
				for _, flag := range []string{"comparisons", "budget", "stage", "record"} {
					if cmd.Flags().Changed(flag) {
						return hinted(fmt.Errorf("--%s goes with --calibrate", flag), "`postage doctor --help` shows the flags")
					}
				}
				this := machine.Read(time.Second)
				if asJSON {
					return doctorJSON(cmd.OutOrStdout(), &this, nil)
				}
				_, err := io.WriteString(cmd.OutOrStdout(), describe(&this))
				return err
			}
			if comparisons < 1 {
				return fmt.Errorf("--comparisons %d: must be at least 1", comparisons)
			}
			if budget < 0 || budget == 0 && cmd.Flags().Changed("budget") {
				return fmt.Errorf("--budget %v: must be more than 0", budget)
			}
			if saved != "" {
				rec, err := record.Load(saved)
				if err != nil {
					return err
				}
				return printCalibration(cmd, rec, saved, asJSON)
			}
			return p.newCalibration(cmd, stage, comparisons, budget, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&calibrate, "calibrate", false, "measure false alarms, coverage, and which slowdown is found")
	f.IntVar(&comparisons, "comparisons", enoughComparisons, "how many comparisons --calibrate makes")
	f.StringVar(&stage, "stage", "", "the stage to calibrate (default the first that needs no server)")
	f.DurationVar(&budget, "budget", 0, "total time for --calibrate (default "+comparisonBudget.String()+" a comparison)")
	f.StringVar(&saved, "record", "", "print what the calibration in `file` found, and measure nothing")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	for _, flag := range []string{"comparisons", "stage"} {
		cmd.MarkFlagsMutuallyExclusive("record", flag)
	}
	cmd.MarkFlagsMutuallyExclusive("record", "budget")
	return cmd
}

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
	if m.Busy() {
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
		add("The machine is virtual: other guests share its caches and affect its clock rate. Ratios measured in one run hold; times in ns may differ tomorrow.")
	}
	switch m.Governor {
	case "":
		add("The frequency governor cannot be seen: the clock rate may change during a run. Contenders share every change, so ratios hold.")
	case "performance":
	default:
		add("The frequency governor is %q: the clock rate changes with load. `cpupower frequency-set -g performance` makes times in ns steadier.", m.Governor)
	}
	if m.Cores < 2 {
		add("There is one core: the garbage collector and the operating system take turns with what is measured.")
	}
	if m.Counters != "available" {
		add("Hardware counters: %s. Instructions are not shown; time is what is measured.", cmp.Or(m.Counters, "n/a"))
	} else {
		add("Hardware counters can be opened: the instructions of an operation are shown beside its time.")
	}
	return f
}

// conclusion is the answer in a sentence.
func conclusion(m *record.Machine) string {
	switch {
	case m.Busy() || m.Stolen():
		return "Not now: ratios will be honest but imprecise, and times in ns mean little, until the machine is quieter."
	case m.Virtualised != "none" || m.Governor != "performance":
		return "Yes for ratios within one run, which have intervals. Compare times in ns only within the same run. `postage doctor --calibrate` measures how far to trust the verdicts."
	}
	return "Yes, for ratios and for times in ns. `postage doctor --calibrate` measures how far to trust the verdicts."
}

// doctorForm is the JSON of what `doctor` found, version 3.
type doctorForm struct {
	Version     int              `json:"version"`
	Machine     *show.Machine    `json:"machine"`
	Findings    []string         `json:"findings"`
	Conclusion  string           `json:"conclusion"`
	Calibration *calibrationForm `json:"calibration"`
}

func doctorJSON(w io.Writer, m *record.Machine, c *calibrationForm) error {
	return report.WriteJSON(w, doctorForm{3, show.MachineOf(m), report.List(findings(m)), conclusion(m), c})
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
