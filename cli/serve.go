package cli

import (
	"os"

	"github.com/spf13/cobra"

	"postage/stage/send/peer"
)

// serveCommand is the other end of the send stage: the process that a server lives in.
func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve-peer",
		Short:  "Serves one protocol to a running postage (started by it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The conversation owns standard output.
			out := cmd.OutOrStdout()
			os.Stdout = os.Stderr
			return peer.Serve(cmd.InOrStdin(), out)
		},
	}
}
