package cli

import (
	"github.com/spf13/cobra"

	"postage/stage/store"
)

// serveStoreSinkCommand is the protocol sink that Store/peer=sink writes to.
func serveStoreSinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve-store-sink",
		Short:  "Takes rows as PostgreSQL does, and drops them, for a running postage (started by it)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.ServeSink(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
