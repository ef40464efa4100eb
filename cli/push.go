package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// pushCommand says where the command has gone.
func pushCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "push",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return hinted(errors.New("push is a command of its own now: webpush, of module webpush, with the same subcommands and flags"),
				"in a checkout of Postage, `go run ./webpush/cmd/webpush -h` lists them")
		},
	}
}
