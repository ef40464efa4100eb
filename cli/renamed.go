package cli

import (
	"slices"
	"strings"
)

// renamed are commands and flags by their names of the release before, which still work and say
// what they are called now.
var renamed = []struct {
	was, is string
	// flags are those that have another name now.
	flags map[string]string
}{
	{was: "report", is: "show --html report.html", flags: map[string]string{"-o": "--html", "--out": "--html"}},
	{was: "gate", is: "compare --gate"},
}

// asNamed are a command's arguments with the names of today, and a hint if they had others.
func asNamed(args []string) (now []string, hint string) {
	for _, r := range renamed {
		was, is := strings.Fields(r.was), strings.Fields(r.is)
		if len(args) < len(was) || !slices.Equal(args[:len(was)], was) {
			continue
		}
		now = is
		for _, arg := range args[len(was):] {
			name, value, found := strings.Cut(arg, "=")
			if flag := r.flags[name]; flag != "" {
				arg = flag
				if found {
					arg += "=" + value
				}
			}
			now = append(now, arg)
		}
		return now, "`postage " + r.was + "` is `postage " + r.is + "` now: the old name goes with the next release"
	}
	return args, ""
}
