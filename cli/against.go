package cli

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/bench"
	"postage/internal/build"
	"postage/internal/words"
	"postage/lab"
)

// sideFlags say what the sides of a comparison differ in.
type sideFlags struct{ against, vary string }

func (s *sideFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.against, "against", "", "compare with the code of the git `revision`, which takes turns with this: --vary @revision,@")
	f.StringVar(&s.vary, "vary", "", "compare two ways to build or run: `what` is GOGC=100,400 or GOTOOLCHAIN=go1.26.8,go1.27.0\n(any variable), -tags=,purego (a flag of go build) or @main,@\n(revisions; @ is the working tree)")
	cmd.MarkFlagsMutuallyExclusive("vary", "against")
}

// one reports whether there is one side, and nothing to compare.
func (s *sideFlags) one() bool { return s.against == "" && s.vary == "" }

func (s *sideFlags) variation() (bench.Variation, error) {
	switch {
	case s.against != "":
		return bench.Variation{Values: []string{s.against, ""}}, nil
	case s.vary != "":
		return bench.ParseVariation(s.vary)
	}
	return bench.Variation{}, nil
}

// sides are two builds of this program.
type sides struct {
	old, now *lab.Build
	release  string   // of Go, that built the new one
	vary     string   // what --vary takes for them
	told     []string // what each is
	opened   []bench.Side
}

// close removes what is not kept in the cache.
func (s *sides) close() error { return bench.Close(s.opened) }

// layoutsOfAGate is how many function layouts each side is built in, if nothing else is asked for.
const layoutsOfAGate = 8

// buildSides builds this program in two ways, each in the same function layouts.
func buildSides(cmd *cobra.Command, vary bench.Variation, layouts int) (both sides, err error) {
	ctx, begun := cmd.Context(), time.Now()
	defer func() {
		if err != nil {
			err = errors.Join(err, both.close())
		}
	}()
	if len(vary.Values) != 2 {
		return both, hinted(fmt.Errorf("--vary: run compares two sides, and there are %d", len(vary.Values)), "two of them at a time")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return both, errors.New("this program has no record of the source that it was built from")
	}
	root, ok := sourceOf(ctx, info)
	if !ok {
		return both, hinted(fmt.Errorf("the current folder is not in the source of this program, module %s", info.Main.Path), "run it in a git checkout of that source")
	}
	if both.opened, err = vary.Open(ctx, root); err != nil {
		return both, err
	}
	old, now := &both.opened[0], &both.opened[1]
	say(cmd, "building this program twice, %s and %s, in %s", old.Label(), now.Label(), words.Counted(layouts, "function layout"))
	target := build.Target{Package: info.Path, Flags: slices.DeleteFunc(buildFlags(ctx, info), func(flag string) bool {
		return strings.HasPrefix(flag, vary.Name+"=") // it has the sides'
	})}
	var versions []map[string]string
	for i, to := range []**lab.Build{&both.old, &both.now} {
		if *to, both.release, err = buildLayouts(ctx, &both.opened[i], target, layouts); err != nil {
			return both, vary.Wrap(vary.Values[i], err)
		}
		of := maps.Clone((*to).Modules)
		of["go"] = both.release
		versions = append(versions, of)
	}
	both.vary, both.told = vary.Text(both.opened), bench.Told(both.opened, versions)
	for _, line := range both.told {
		say(cmd, "%s", line)
	}
	say(cmd, "built in %v", time.Since(begun).Round(100*time.Millisecond))
	return both, nil
}

// buildLayouts builds the target of a side, and returns the Go release that did too.
func buildLayouts(ctx context.Context, side *bench.Side, target build.Target, layouts int) (*lab.Build, string, error) {
	programs, err := side.Layouts(ctx, target, layouts)
	if err != nil {
		return nil, "", err
	}
	b := &lab.Build{Name: side.InName(), Commit: side.Commit, Environment: side.Environment}
	for _, program := range programs {
		b.Commands = append(b.Commands, []string{program, "worker"})
	}
	info, err := buildinfo.ReadFile(programs[0])
	if err != nil {
		return nil, "", err
	}
	b.Modules = lab.ModulesOf(info)
	return b, info.GoVersion, nil
}

// buildFlags are the flags of this program's build that change the code: both sides get them. With
// a profile beside the main package, each side uses its own (-pgo=auto).
func buildFlags(ctx context.Context, info *debug.BuildInfo) []string {
	var flags []string
	pgo := "off"
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags", "-ldflags", "-gcflags", "-asmflags", "-trimpath", "-race":
			flags = append(flags, s.Key+"="+s.Value)
		case "-pgo":
			pgo = s.Value
			folder, err := build.Output(ctx, "", "go", "list", "-f", "{{.Dir}}", info.Path)
			if base := filepath.Base(pgo); base == "default.pgo" && (pgo == base || err == nil && filepath.Dir(pgo) == folder) {
				pgo = "auto"
			}
		}
	}
	return append(flags, "-pgo="+pgo)
}

// sourceOf is the root of the source that a program was built from, if the current folder
// is in it.
func sourceOf(ctx context.Context, info *debug.BuildInfo) (root string, ok bool) {
	root, err := build.Output(ctx, "", "go", "list", "-m", "-f", "{{if .Main}}{{.Dir}}{{end}}", info.Main.Path)
	return root, err == nil && root != ""
}
