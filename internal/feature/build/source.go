package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"postage/internal/sys/proc"
)

// Dirty ends the commit of a working tree with changes that are not committed.
const Dirty = "+dirty"

// ErrNoRevision is a revision that git does not know.
var ErrNoRevision = errors.New("git knows no such revision")

// Source is code that programs are built from.
type Source struct {
	// Commit is the full name of the commit, of a working tree with [Dirty] behind it if it
	// has changes, "" if it is in no git repository.
	Commit string

	mu      sync.Mutex // guards Folder: layouts are built side by side
	folder  string     // where the go command runs, "" for a revision that is not checked out yet
	top     string     // of the working tree that a revision was named in
	below   string     // of top: where the go command runs there
	work    string     // the working tree's workspace, "" if each commit has its own
	around  string     // top, or the folder above it that holds all that a build takes from beside it
	shared  bool       // a build takes something that no commit determines
	edits   int        // how often tests were taken or given back
	scratch string     // a temporary folder, "" until there is need of one

	environment []string // of the go command, beside this process's
	root        string   // of Go's own files, if another than the go command would take
}

// WorkingTree is the code as it lies in a folder and around it.
func WorkingTree(ctx context.Context, folder string) (*Source, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	s := &Source{folder: absolute}
	if s.Commit, err = Output(ctx, folder, "git", "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		s.Commit = ""
		return s, ctx.Err()
	}
	if changed, err := Output(ctx, folder, "git", "--no-optional-locks", "status", "--porcelain"); err != nil || changed != "" {
		s.Commit += Dirty
	}
	return s, ctx.Err()
}

// Revision is the code of a revision that git knows in a folder, where that folder is in it. The
// error wraps [ErrNoRevision] if there is none.
func Revision(ctx context.Context, folder, name string) (*Source, error) {
	commit, err := Output(ctx, folder, "git", "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 { // quietly; all else has git's own reason
		return nil, fmt.Errorf("%s: %w in %s%s", name, ErrNoRevision, folder, why(ctx, folder))
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Source{Commit: commit}
	if s.top, err = Output(ctx, folder, "git", "rev-parse", "--show-toplevel"); err != nil {
		return nil, err
	}
	if s.below, err = Output(ctx, folder, "git", "rev-parse", "--show-prefix"); err != nil {
		return nil, err
	}
	return s, s.lookAround(ctx)
}

// why says why a repository may lack a revision.
func why(ctx context.Context, folder string) string {
	if shallow, err := Output(ctx, folder, "git", "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return ", a shallow clone: `git fetch --unshallow`, or fetch-depth: 0 with actions/checkout"
	}
	if any, err := Output(ctx, folder, "git", "rev-list", "--all", "--max-count=1"); err == nil && any == "" {
		return ": it has no commits"
	}
	return ""
}

// Close removes what was built of a working tree, and what was checked out of a revision. What was
// built of a revision stays in the cache for some days.
func (s *Source) Close() error {
	if s.scratch == "" {
		return nil
	}
	return os.RemoveAll(s.scratch)
}

// Folder is where the go command runs for the source: a revision is checked out for it, into a
// folder of its own that Close removes.
func (s *Source) Folder(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder != "" {
		return s.folder, nil
	}
	if _, err := s.temporary(); err != nil {
		return "", err
	}
	if err := checkOut(ctx, s.top, s.Commit, s.at(s.top)); err != nil {
		return "", err
	}
	if err := s.surround(); err != nil {
		return "", err
	}
	s.folder = filepath.Join(s.at(s.top), s.below)
	return s.folder, nil
}

// Changed are the files of the source's repository, as they lie in its folder, that differ from
// another commit's, or that git does not know.
func (s *Source) Changed(ctx context.Context, commit string) (files []string, err error) {
	up, err := s.Output(ctx, "git", "rev-parse", "--show-cdup")
	if err != nil {
		return nil, err
	}
	top := filepath.Join(s.folder, up)
	// A workspace that git does not know counts on both sides.
	for _, list := range [][]string{
		{"--no-optional-locks", "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=none", commit},
		{"ls-files", "-z", "--others", "--exclude=go.work", "--exclude=go.work.sum"},
	} {
		names, err := Output(ctx, top, "git", list...)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == 0 }) {
			files = append(files, filepath.Join(top, name))
		}
	}
	return files, nil
}

// TakeTests has a revision's package tested by another source's tests and their testdata, or by its
// own and the other's files with benchmarks alone. It takes the package's folder there, and returns
// the one here, "" if the revision does not have the package.
func (s *Source) TakeTests(ctx context.Context, from *Source, there string, benchmarks bool) (here string, err error) {
	to, err := s.Folder(ctx)
	if err != nil {
		return "", err
	}
	below, in := Below(from.folder, there)
	if here = filepath.Join(to, below); !in || !exists(here) || s.top == "" { // a working tree is not touched
		return "", nil
	}
	s.shared = true // by the commit alone, nobody knows what is built
	s.edits++
	if err := removeTests(here, benchmarks); err != nil {
		return "", err
	}
	names, err := testsIn(there, benchmarks)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(here, filepath.Base(name)), text, 0o666)
		}
		if err != nil {
			return "", err
		}
	}
	if data := filepath.Join(there, "testdata"); err == nil && exists(data) {
		err = os.CopyFS(filepath.Join(here, "testdata"), os.DirFS(data))
	}
	return here, err
}

// GiveBackTests has a revision's package in a folder tested by its own tests again.
func (s *Source) GiveBackTests(ctx context.Context, folder string) error {
	s.edits++
	if err := removeTests(folder, false); err != nil {
		return err
	}
	_, err := Output(ctx, folder, "git", "checkout", "--quiet", "HEAD", "--", ".")
	return err
}

// benchmark begins a function that go test runs as one.
var benchmark = regexp.MustCompile(`(?m)^func Benchmark`)

// testsIn are a folder's test files, or those of them with benchmarks.
func testsIn(folder string, benchmarks bool) (names []string, err error) {
	all, _ := filepath.Glob(filepath.Join(folder, "*_test.go")) // the pattern is well formed
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if !benchmarks || benchmark.Match(text) {
			names = append(names, name)
		}
	}
	return names, nil
}

func removeTests(folder string, benchmarks bool) error {
	names, err := testsIn(folder, benchmarks)
	for _, name := range append(names, filepath.Join(folder, "testdata")) {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Output is what a program prints that runs in the source's folder, see [Output].
func (s *Source) Output(ctx context.Context, program string, arguments ...string) (string, error) {
	folder, err := s.Folder(ctx)
	if err != nil {
		return "", err
	}
	var around []string
	if s.work != "" {
		around = []string{"GOWORK=" + s.at(s.work)}
	}
	return s.output(ctx, folder, around, program, arguments...)
}

// output is what a program prints with the source's settings and some variables more.
func (s *Source) output(ctx context.Context, folder string, around []string, program string, arguments ...string) (string, error) {
	if s.root != "" && program == "go" {
		program = filepath.Join(s.root, "bin", "go"+suffix())
	}
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = folder
	cmd.Env = slices.Concat(cmd.Environ(), around, s.environment)
	if arguments[0] == "build" || arguments[0] == "test" {
		// The go command, when it is stopped, leaves its files, and compilers that run on.
		other, err := s.output(ctx, "", nil, "go", "env", "GOTMPDIR") // "" for the system's
		if err != nil {
			return "", err
		}
		temporary, err := os.MkdirTemp(other, "postage-go-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(temporary)
		cmd.Env = append(cmd.Env, "GOTMPDIR="+temporary)
		proc.OwnGroup(cmd)
		cmd.WaitDelay = 5 * time.Second
	}
	return output(ctx, cmd)
}

// checkOut checks a commit of a working tree's repository out into a new folder, with the
// submodules that the working tree has.
func checkOut(ctx context.Context, tree, commit, to string) error {
	// A repository that borrows the objects: a worktree would be remembered by the tree's own, and
	// a clone of a shallow one has only what branches name.
	facts, err := Output(ctx, tree, "git", "rev-parse", "--show-object-format", "--git-path", "objects")
	if err != nil {
		return err
	}
	format, objects, _ := strings.Cut(facts, "\n")
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(tree, objects)
	}
	if _, err := Output(ctx, "", "git", "init", "--quiet", "--template=", "--object-format="+format, to); err != nil {
		return err
	}
	// A partial clone fetches what it lacks at once for figures of all files, by its own settings.
	// The new repository has none, and git checks out what there is without a word.
	if partial, err := Output(ctx, tree, "git", "config", "--get-regexp", `^remote\..*\.promisor$`); err == nil && partial != "" {
		nothing, err := Output(ctx, tree, "git", "hash-object", "-t", "tree", "--stdin")
		if err == nil {
			_, err = Output(ctx, tree, "git", "diff-tree", "--shortstat", "--no-ext-diff", nothing, commit)
		}
		if err != nil {
			return fmt.Errorf("fetch what a partial clone lacks of %s: %w", commit, err)
		}
	}
	borrowed := filepath.Join(to, ".git", "objects", "info")
	if err := errors.Join(os.MkdirAll(borrowed, 0o777), os.WriteFile(filepath.Join(borrowed, "alternates"), []byte(objects+"\n"), 0o666)); err != nil {
		return err
	}
	// Nor do the user's hooks run for it: this may be one.
	if _, err := Output(ctx, to, "git", "-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(to, ".gitmodules")); err != nil {
		return nil
	}
	// Without their addresses, which need a network and may be relative to another place.
	list, err := Output(ctx, to, "git", "config", "--file", ".gitmodules", "--get-regexp", `\.path$`)
	if err != nil {
		return ctx.Err() // it names none
	}
	for line := range strings.Lines(list) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		below := filepath.Join(tree, path)
		commit, err := Output(ctx, to, "git", "rev-parse", "--verify", "--quiet", "HEAD:"+path)
		if err != nil {
			continue // named, and not in the commit
		}
		if _, err := os.Stat(filepath.Join(below, ".git")); err != nil {
			continue // nor has the working tree it
		}
		if err := checkOut(ctx, below, commit, filepath.Join(to, path)); err != nil {
			return fmt.Errorf("submodule %s: %w; `git -C %s fetch` may help", path, err, below)
		}
	}
	return nil
}

// temporary is the source's temporary folder. Only [Source.Folder] calls it side by side.
func (s *Source) temporary() (string, error) {
	if s.scratch != "" {
		return s.scratch, nil
	}
	scratch, err := os.MkdirTemp("", "postage-build-")
	s.scratch = scratch
	return scratch, err
}

// Output is what a program prints, without the space around it. If it fails, the error has all
// that it said.
func Output(ctx context.Context, folder, program string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = folder
	return output(ctx, cmd)
}

func output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s %s: %w: %s", cmd.Args[0], cmd.Args[1], err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("%s: %w", cmd.Args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}
