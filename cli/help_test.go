package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A command's first help fits on a screen; `--help all` has every flag, once.
func TestHelpInGroups(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		if code := (program{}).run(t.Context(), args, strings.NewReader(""), &out, &out); code != exitOK {
			t.Fatalf("%q: exit status %d: %s", args, code, &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > helpWidth {
				t.Errorf("%q: a line of %d columns: %s", args, n, line)
			}
		}
		return out.String()
	}
	for _, cmd := range []*cobra.Command{loadCommand()} {
		name := cmd.Name()
		if n := strings.Count(help(name, "--help"), "\n"); n > 40 {
			t.Errorf("%s --help has %d lines", name, n)
		}
		all := help(name, "--help", "all")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			lines := regexp.MustCompile(`(?m)^ +(-., )?--`+f.Name+`( |$)`).FindAllString(all, -1)
			if len(lines) == 1 == f.Hidden {
				t.Errorf("%s --help all has %d lines for --%s", name, len(lines), f.Name)
			}
		})
	}
}
