package cli

import (
	"github.com/spf13/cobra"

	"postage/stage/seal"
)

// servePushCommand is the push service that Seal/send=loopback sends to.
func servePushCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve-push PUBLICKEY",
		Short:  "Serves as push service to a running postage (started by it)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return seal.ServePush(args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
