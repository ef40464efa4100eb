//go:build !benchonly

package cli

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/feature/profile"
)

// profileFlags are the flags of `postage profile`.
type profileFlags struct {
	formFlags
	owners    string
	main      string
	label     string
	with      string
	anyFormat bool
}

func profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile FILE...",
		Short: "Say what a service spends on messages, and what a change saves",
		Long: `Reads profiles of a service in pprof's format: of CPU time and, to share out the garbage, of allocations.
Several of each, of many replicas, are added up.

Each sample belongs to the nearest caller that is not a helper, such as runtime or strings: a library, or your own code, also where a library calls it back.
What a change would save is that share times the ratio that your own message's record has: --with. Nothing leaves this machine.`,
		Example: `  curl -o cpu.pprof 'http://host:6060/debug/pprof/profile?seconds=30' &
  curl -o allocs.pprof 'http://host:6060/debug/pprof/allocs?seconds=30'; wait
  postage profile cpu.pprof allocs.pprof
  postage profile cpu.pprof allocs.pprof --with .postage/runs/latest`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runProfile(cmd, args, &f) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"pprof", "pb.gz", "pgo"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.owners, "owners", "", "`file` with further libraries, a line each: path, stage, operation (docs/profile.md)")
	flags.StringVar(&f.main, "main", "", "`path` of your own module (default: what the profiled program says, if it is on this machine)")
	flags.StringVar(&f.label, "label", "", "only the CPU time of samples with this `label`, such as endpoint=/render")
	flags.StringVar(&f.with, "with", "", "`record` to take ratios from: postage bring makes one of your own message")
	flags.BoolVar(&f.anyFormat, "any-format", false, "with --with: also what changes the bytes on the wire")
	f.register(cmd)
	return cmd
}

func runProfile(cmd *cobra.Command, args []string, f *profileFlags) error {
	switch {
	case f.label != "" && !strings.Contains(f.label, "="):
		return fmt.Errorf("--label %s: want a name and a value, such as endpoint=/render", f.label)
	case f.anyFormat && f.with == "":
		return errors.New("--any-format is for the changes that --with lists")
	}
	table, err := profile.NewOwners()
	if err != nil {
		return err
	}
	if f.owners != "" {
		text, err := os.ReadFile(f.owners)
		if err == nil {
			err = table.Add(f.owners, bytes.NewReader(text))
		}
		if err != nil {
			return fmt.Errorf("--owners: %w", err)
		}
	}
	s, err := f.summary(table, args)
	if err != nil {
		return err
	}
	if f.with != "" {
		rec, err := loadRun(f.with)
		if err != nil {
			return err
		}
		costs, err := profile.CostsOf(rec, f.with)
		if err != nil {
			return fmt.Errorf("--with %w", err)
		}
		s.Predict(table, costs, f.anyFormat)
	}
	return profile.Print(cmd.OutOrStdout(), s, f.form(cmd))
}

// summary reads the profiles and adds them up.
func (f *profileFlags) summary(table *profile.Owners, names []string) (*profile.Summary, error) {
	var sources []*profile.Source
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil && strings.Contains(name, "://") {
			server, _, _ := strings.Cut(name, "/debug/pprof")
			return nil, hinted(err, "fetch it first: curl -o cpu.pprof '"+strings.TrimSuffix(server, "/")+"/debug/pprof/profile?seconds=30'")
		} else if err != nil {
			return nil, err
		}
		source, err := profile.Read(name, file)
		_ = file.Close()
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	table.Main = f.main
	for _, source := range sources {
		if info, err := buildinfo.ReadFile(source.Program()); err == nil && f.main == "" {
			table.Main = info.Main.Path
		}
		if f.label != "" && source.Kind == profile.CPU {
			if err := source.Labelled(f.label); err != nil {
				return nil, err
			}
		}
	}
	if f.label != "" { // allocations have no labels
		sources = slices.DeleteFunc(sources, func(s *profile.Source) bool { return s.Kind == profile.Allocations })
	}
	return profile.Summarize(table, sources)
}
