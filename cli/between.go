package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"postage/internal/verdict"
	"postage/record"
)

// keptBetween is what differs between runs on a machine.
type keptBetween struct {
	Between float64
	Runs    int
}

// keptFile is a file, beside the runs, of what was found out about this machine.
func keptFile(name string) string { return filepath.Join(filepath.Dir(runsFolder), name+".json") }

// keep keeps what was found out about a machine.
func keep(name string, m *record.Machine, what any) error {
	text, err := json.Marshal(map[string]any{"Machine": m.Identity(), "Found": what})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(keptFile(name)), 0o777); err != nil {
		return err
	}
	return writeFile(keptFile(name), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// kept is what was kept of the machine, if anything was.
func kept[T any](name string, m *record.Machine) (found T, ok bool) {
	var file struct {
		Machine string
		Found   *T
	}
	text, err := os.ReadFile(keptFile(name))
	if err != nil || json.Unmarshal(text, &file) != nil || file.Machine != m.Identity() || file.Found == nil {
		return found, false
	}
	return *file.Found, true
}

// between is what intervals have added for what differs between runs on this machine, and what is
// said of it.
func between(m *record.Machine) (sd float64, said string) {
	if kept, ok := kept[keptBetween]("between", m); ok {
		return kept.Between, fmt.Sprintf("intervals are those of a second run: ±%.1f%% is added, as %d runs on this machine differed", 196*kept.Between, kept.Runs)
	}
	return verdict.DefaultBetween, fmt.Sprintf("intervals are those of a second run: ±%.1f%% is added by default; `postage doctor --between RECORD...` finds out how much it is here", 196*verdict.DefaultBetween)
}

// fewestRuns say something about what differs between them.
const fewestRuns = 3

// doctorBetween finds out what differs between runs, from records of the same rows, and keeps it.
func doctorBetween(cmd *cobra.Command, files []string) error {
	if len(files) < fewestRuns {
		return hinted(fmt.Errorf("--between: %d records; want at least %d", len(files), fewestRuns), "measure the same rows again hours apart: `postage run PATTERN --out FILE`")
	}
	records, err := loadRuns(files)
	if err != nil {
		return err
	}
	for i, rec := range records {
		if rec.Machine.Identity() != records[0].Machine.Identity() {
			return fmt.Errorf("%s is of another machine (%s) than %s (%s)", files[i], rec.Machine.Identity(), files[0], records[0].Machine.Identity())
		}
	}
	found := verdict.Repeat(records)
	if found.Rows == 0 {
		return errors.New("--between: no row has an interval in two of the records")
	}
	if err := keep("between", &records[0].Machine, keptBetween{found.Between, len(records)}); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d rows in %d runs: the largest estimate of a row is %.3f of its smallest\n", found.Rows, len(records), found.Apart)
	fmt.Fprintf(cmd.OutOrStdout(), "intervals disjoint                %d of %d pairs\n", found.Disjoint, found.Pairs)
	fmt.Fprintf(cmd.OutOrStdout(), "differs between runs              ±%.2f%% (95%%), beyond the blocks of one\n", 196*found.Between)
	fmt.Fprintln(cmd.OutOrStdout(), "kept: runs on this machine add it to their intervals")
	return nil
}
