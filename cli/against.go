package cli

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"postage/internal/build"
	"postage/internal/words"
	"postage/lab"
	"postage/record"
)

// sides are builds of this program: of a revision, and of the working tree.
type sides struct{ old, now *lab.Build }

// layoutsOfAGate is how many function layouts each side is built in, if nothing else is asked for.
const layoutsOfAGate = 8

// buildSides builds this program at a git revision and from the working tree, each in the same
// function layouts. remove removes what is not kept in the cache.
func buildSides(cmd *cobra.Command, name string, layouts int) (both sides, remove func() error, err error) {
	ctx, begun := cmd.Context(), time.Now()
	defer func() {
		switch {
		case ctx.Err() != nil:
			err = lab.ErrInterrupted
		case errors.Is(err, build.ErrNoRevision):
			err = hinted(fmt.Errorf("--against %w", err), "such as main, HEAD~1, or a commit; a shallow clone does not have them all")
		case err != nil:
			err = fmt.Errorf("--against %s: %w", name, err)
		default:
			say(cmd, "built in %v", time.Since(begun).Round(100*time.Millisecond))
		}
	}()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return both, nil, errors.New("this program has no record of the source that it was built from")
	}
	root, ok := sourceOf(ctx, info)
	if !ok {
		return both, nil, hinted(fmt.Errorf("the current folder is not in the source of this program, module %s", info.Main.Path), "run it in a git checkout of that source")
	}
	old, err := build.Revision(ctx, root, name)
	if err != nil {
		return both, nil, err
	}
	now, err := build.WorkingTree(ctx, root)
	if err != nil {
		return both, nil, err
	}
	remove = func() error { return errors.Join(old.Close(), now.Close()) }
	say(cmd, "building this program at %s and from the working tree, in %s", shortCommit(old.Commit), words.Counted(layouts, "function layout"))
	target := build.Target{Package: info.Path, Flags: buildFlags(ctx, info)}
	if both.old, err = buildLayouts(ctx, old, target, layouts); err == nil {
		both.now, err = buildLayouts(ctx, now, target, layouts)
	}
	if err != nil {
		return both, nil, errors.Join(err, remove())
	}
	return both, remove, nil
}

func buildLayouts(ctx context.Context, source *build.Source, target build.Target, layouts int) (*lab.Build, error) {
	programs, err := source.Layouts(ctx, target, layouts)
	if err != nil {
		return nil, err
	}
	b := &lab.Build{Name: shortCommit(source.Commit), Commit: source.Commit, Modules: map[string]string{}}
	for _, program := range programs {
		b.Commands = append(b.Commands, []string{program, "worker"})
	}
	info, err := buildinfo.ReadFile(programs[0])
	if err != nil {
		return nil, err
	}
	b.Modules = lab.ModulesOf(info)
	return b, nil
}

func shortCommit(commit string) string { return commit[:min(12, len(commit))] }

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

// revisionOf is the commit that a run was against, "" for none.
func revisionOf(rec *record.Record) string {
	for i := range rec.Rows {
		if rec.Rows[i].Revision != "" {
			return rec.Rows[i].Revision
		}
	}
	return ""
}
