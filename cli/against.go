package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/feature/build"
	"postage/internal/kit/words"
	"postage/lab"
)

// layoutsOfAGate is how many function layouts each side is built in by default.
const layoutsOfAGate = 8

// buildSides builds this program in two ways, each in the same function layouts, and has the
// entries measured in both.
func (f *measureFlags) buildSides(cmd *cobra.Command, entries []lab.Entry) (sides *build.Sides, both []lab.Entry, err error) {
	ctx, begun := cmd.Context(), time.Now()
	vary, err := f.variation()
	if err != nil {
		return nil, nil, err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, nil, errors.New("this program has no record of the source that it was built from")
	}
	root, ok := sourceOf(ctx, info)
	if !ok {
		return nil, nil, hinted(fmt.Errorf("the current folder is not in the source of this program, module %s", info.Main.Path), "run it in a git checkout of that source")
	}
	if sides, err = vary.Open(ctx, root); err != nil {
		return nil, nil, err
	}
	say(cmd, "building this program twice, %s and %s, in %s", sides.All[0].Label(), sides.Now().Label(), words.Counted(f.layouts, "function layout"))
	target := build.Target{Package: info.Path, Flags: slices.DeleteFunc(buildFlags(info), func(flag string) bool {
		return strings.HasPrefix(flag, vary.Name+"=") // each side has its own
	})}
	var builds [2]*lab.Build
	for i, side := range sides.All {
		if builds[i], err = side.Build(ctx, target, f.layouts, "worker"); err != nil {
			return nil, nil, errors.Join(side.Wrap(err), sides.Close())
		}
	}
	tell(cmd, sides.Told())
	say(cmd, "built in %v", time.Since(begun).Round(100*time.Millisecond))
	return sides, lab.Against(entries, builds[0], builds[1]), nil
}

// buildFlags are the flags of this program's build that change the code: both sides get them. With
// a profile beside the main package, default.pgo, each side uses its own.
func buildFlags(info *debug.BuildInfo) []string {
	var flags []string
	pgo := "off"
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags", "-ldflags", "-gcflags", "-asmflags", "-trimpath", "-race":
			flags = append(flags, s.Key+"="+s.Value)
		case "-pgo":
			if pgo = s.Value; filepath.Base(pgo) == "default.pgo" {
				pgo = "auto"
			}
		}
	}
	return append(flags, "-pgo="+pgo)
}

// sourceOf is the root of the source that a program was built from, if it has the current folder.
func sourceOf(ctx context.Context, info *debug.BuildInfo) (root string, ok bool) {
	root, err := build.Output(ctx, "", "go", "list", "-m", "-f", "{{if .Main}}{{.Dir}}{{end}}", info.Main.Path)
	return root, err == nil && root != ""
}
