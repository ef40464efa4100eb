package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and Go's version",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd) },
	}
}

func printVersion(cmd *cobra.Command) error {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s, commit %s, %s %s/%s\n", cmd.Root().Name(), cmp.Or(version, "(devel)"), cmp.Or(commit(cmd.Context()), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
