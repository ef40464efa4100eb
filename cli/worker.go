package cli

import (
	"os"

	"github.com/spf13/cobra"

	"postage/lab"
)

// workerCommand is the command of the process that `run` measures a contender in.
func (p program) workerCommand() *cobra.Command {
	var comparisons int
	var stage string
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Serves one contender to a running postage (started by it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			suites := p.suites
			if baseline := p.calibrated(stage); comparisons > 0 && baseline != nil {
				suites = []lab.Suite{calibrationSuite(baseline, comparisons)}
			}
			// Standard output is for the protocol; what a contender prints goes to standard error.
			out := cmd.OutOrStdout()
			os.Stdout = os.Stderr
			return lab.ServeWorker(cmd.Context(), suites, cmd.InOrStdin(), out)
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "", "the stage that is calibrated")
	cmd.Flags().IntVar(&comparisons, "comparisons", 0, "serve a calibration of so many comparisons")
	return cmd
}
