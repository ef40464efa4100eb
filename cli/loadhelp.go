package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// loadGroups are the flags of `postage load` as its help lists them. Those that are in none come
// last.
var loadGroups = []struct{ title, flags string }{
	{"What is sent", "request header body targets data replay speed cookies method proto-file messages"},
	{"When, and how much", "rate duration max-requests stages arrivals warm-up wait timeout"},
	{"Where to, and how", "proto conns streams connect-to insecure ca cert key cpu"},
	{"What is a success", "expect assert slo"},
	{"Output", "json csv html hgrm hdr-log prometheus prometheus-write server-pid server-metrics"},
	{"On Kubernetes", "kubernetes workers image namespace kubeconfig service-account host-network attach"},
	{"The built-in server", "tls server-stall"},
	{"This command", "config config-schema help"},
}

// groupedUsage has a command list its flags in groups.
func groupedUsage(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		rest := map[string]bool{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { rest[f.Name] = !f.Hidden })
		list := func(title string, chosen func(name string) bool) {
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if rest[f.Name] && chosen(f.Name) {
					set.AddFlag(f)
				}
			})
			if set.HasFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", title, set.FlagUsages())
			}
			set.VisitAll(func(f *pflag.Flag) { rest[f.Name] = false })
		}
		for _, g := range loadGroups {
			names := " " + g.flags + " "
			list(g.title, func(name string) bool { return strings.Contains(names, " "+name+" ") })
		}
		list("Others", func(string) bool { return true })
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}
