package cli

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"postage/lab"
	"postage/record"
)

// buildRevision builds this program as it was at a revision that git knows, in a folder
// of its own. remove removes it.
func buildRevision(ctx context.Context, name string) (old *lab.Revision, remove func() error, err error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, nil, errors.New("--against: this program does not know what it was built from")
	}
	root, ok := sourceOf(ctx, info)
	if !ok {
		return nil, nil, hinted(fmt.Errorf("--against: the current folder is not in the source of this program, module %s", info.Main.Path), "go to its source, where git knows the revisions")
	}
	commit, err := output(ctx, root, "git", "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return nil, nil, hinted(fmt.Errorf("--against %s: git knows no such revision in %s", name, root), "such as main, HEAD~1, or a commit; a shallow clone does not have them all")
	}
	top, err := output(ctx, root, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, nil, fmt.Errorf("--against: %w", err)
	}
	below, err := filepath.Rel(top, root)
	if err != nil {
		return nil, nil, fmt.Errorf("--against: %w", err)
	}
	folder, err := os.MkdirTemp("", "postage-against-")
	if err != nil {
		return nil, nil, fmt.Errorf("--against: %w", err)
	}
	removeFolder := func() error { return os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			err = fmt.Errorf("--against %s: %w", name, errors.Join(err, removeFolder()))
		}
	}()
	// A clone that shares the objects: a worktree would be remembered by the repository.
	clone := filepath.Join(folder, "source")
	if _, err := output(ctx, "", "git", "clone", "--quiet", "--shared", "--no-checkout", top, clone); err != nil {
		return nil, nil, err
	}
	if _, err := output(ctx, clone, "git", "checkout", "--quiet", "--detach", commit); err != nil {
		return nil, nil, err
	}
	program := filepath.Join(folder, "old")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := output(ctx, filepath.Join(clone, below), "go", append(append([]string{"build", "-o", program}, buildFlags(info)...), info.Path)...); err != nil {
		return nil, nil, err
	}
	built, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, nil, err
	}
	modules := map[string]string{}
	for _, m := range built.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		modules[m.Path] = m.Version
	}
	return &lab.Revision{Name: commit[:min(12, len(commit))], Commit: commit, Command: []string{program, "worker"}, Modules: modules}, removeFolder, nil
}

// buildFlags are those that this program was built with and that change the code: the old one gets them
// too. Its profile is the one that it has beside it (-pgo=auto), unless this one was built without.
func buildFlags(info *debug.BuildInfo) []string {
	var flags []string
	pgo := "off"
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags", "-ldflags", "-gcflags", "-asmflags", "-trimpath", "-race":
			flags = append(flags, s.Key+"="+s.Value)
		case "-pgo":
			pgo = "auto"
		}
	}
	return append(flags, "-pgo="+pgo)
}

// sourceOf is the root of the source that a program was built from, if the current folder
// is in it.
func sourceOf(ctx context.Context, info *debug.BuildInfo) (root string, ok bool) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{if .Main}}{{.Dir}}{{end}}", info.Main.Path)
	return root, err == nil && root != ""
}

// output is what a program prints, its last words if it fails.
func output(ctx context.Context, folder, program string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = folder
	text, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", lab.ErrInterrupted
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s %s: %w: %s", program, arguments[0], err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("%s: %w", program, err)
	}
	return strings.TrimSpace(string(text)), nil
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
