package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// repository is a git repository in which a module lies, in a folder below its top.
func repository(t *testing.T) (module string, git func(args ...string)) {
	t.Helper()
	goCache, err := Output(t.Context(), "", "go", "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", goCache)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOWORK", "off")
	top := t.TempDir()
	git = func(args ...string) {
		t.Helper()
		args = append([]string{"-C", top, "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"}, args...)
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
	}
	module = filepath.Join(top, "below")
	git("init", "-q")
	write(t, module, "go.mod", "module example.org/m\n\ngo 1.24\n")
	write(t, module, "main.go", "package main\n\nvar stamp = \"none\"\n\nfunc main() { println(stamp, tagged) }\n")
	write(t, module, "tagged.go", "//go:build special\n\npackage main\n\nconst tagged = \"special\"\n")
	write(t, module, "untagged.go", "//go:build !special\n\npackage main\n\nconst tagged = \"plain\"\n")
	write(t, module, "main_test.go", "package main\n\nimport \"testing\"\n\nfunc BenchmarkNothing(b *testing.B) {}\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	return module, git
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// said is what a program prints.
func said(t *testing.T, program string, args ...string) string {
	t.Helper()
	text, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, text)
	}
	return strings.TrimSpace(string(text))
}

// order is in which order a program has its functions.
func order(t *testing.T, program string) string {
	t.Helper()
	var names []string
	for line := range strings.Lines(said(t, "go", "tool", "nm", "-n", program)) {
		if fields := strings.Fields(line); len(fields) == 3 && strings.EqualFold(fields[1], "T") {
			names = append(names, fields[2])
		}
	}
	if len(names) < 100 {
		t.Fatalf("%s has %d functions", program, len(names))
	}
	return strings.Join(names, "\n")
}

// A revision is built with the tags and linker's flags given, in layouts that differ, the same ones
// each time, and stays built; the working tree is built as it is, and not kept.
func TestLayouts(t *testing.T) {
	module, git := repository(t)
	write(t, module, "main.go", "package main\n\nvar stamp = \"none\"\n\nfunc main() { println(\"new\", stamp, tagged) }\n")
	target := Target{Package: "example.org/m", Flags: []string{"-tags=special", "-ldflags=-X main.stamp=here"}}
	old, err := Revision(t.Context(), module, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := old.Layouts(t.Context(), target, 3)
	if err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for _, program := range programs {
		if got := said(t, program); got != "here special" {
			t.Errorf("%s says %q", program, got)
		}
		orders[order(t, program)] = true
	}
	plain, err := old.Layouts(t.Context(), target, 1)
	if err != nil {
		t.Fatal(err)
	}
	orders[order(t, plain[0])] = true
	if len(orders) != 4 {
		t.Errorf("%d orders of functions in 3 layouts and the linker's own", len(orders))
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}

	again, err := Revision(t.Context(), module, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := again.Layouts(t.Context(), target, 3)
	if err != nil || kept[2] != programs[2] || again.folder != "" {
		t.Errorf("built once more: %v, %v, checked out in %q", kept, err, again.folder)
	}
	if _, err := os.Stat(kept[2]); err != nil {
		t.Error(err)
	}

	for _, dirty := range []bool{true, false} {
		now, err := WorkingTree(t.Context(), module)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(now.Commit, Dirty) != dirty || strings.HasPrefix(now.Commit, old.Commit) != dirty {
			t.Errorf("commit %q, old %q", now.Commit, old.Commit)
		}
		// GOFLAGS counts where the target says nothing, and is added to.
		t.Setenv("GOFLAGS", `-trimpath "-ldflags=-s -X 'main.stamp=from GOFLAGS'"`)
		here, err := now.Layouts(t.Context(), Target{Package: "."}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, here[0]); got != "new from GOFLAGS plain" {
			t.Errorf("the working tree says %q", got)
		}
		if err := now.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(here[0]); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("kept: %v", err)
		}
		t.Setenv("GOFLAGS", "")
		if dirty {
			git("commit", "-q", "-a", "-m", "second")
		}
	}
}

// A test binary is built as a program is.
func TestLayoutsOfTests(t *testing.T) {
	module, _ := repository(t)
	s, err := Revision(t.Context(), module, "main")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	binaries, err := s.Layouts(t.Context(), Target{Package: "./.", Test: true}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, binaries[1], "-test.list=."); got != "BenchmarkNothing" {
		t.Errorf("lists %q", got)
	}
	if order(t, binaries[0]) == order(t, binaries[1]) {
		t.Error("two layouts are one")
	}
}

// Profiles are used as by go build: each side's own default.pgo, or the one that GOFLAGS names.
func TestLayoutsWithProfile(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("compiles Go's own packages for each profile: POSTAGE_LONG=1")
	}
	module, git := repository(t)
	sample := func(function string) string {
		one, two := &profile.Function{ID: 1, Name: "main." + function, StartLine: 1}, &profile.Function{ID: 2, Name: "main.main", StartLine: 1}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{one, two},
			Location: []*profile.Location{{ID: 1, Line: []profile.Line{{Function: one, Line: 2}}}, {ID: 2, Line: []profile.Line{{Function: two, Line: 2}}}},
		}
		p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{10, 100}}}
		var text bytes.Buffer
		if err := p.Write(&text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	// used is the profile that a program was built with. It has few packages, as Go's own are
	// compiled anew for each profile.
	used := func(s *Source) (used string) {
		t.Helper()
		programs, err := s.Layouts(t.Context(), Target{Package: "."}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(said(t, "go", "version", "-m", programs[0])) {
			if _, file, ok := strings.Cut(line, "-pgo="); ok {
				used = strings.TrimSpace(file)
			}
		}
		return used
	}
	write(t, module, "default.pgo", sample("old"))
	git("add", ".")
	git("commit", "-q", "-m", "with a profile")
	write(t, module, "default.pgo", sample("new"))
	now, err := WorkingTree(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	old, err := Revision(t.Context(), module, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	folder, err := old.Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for s, folder := range map[*Source]string{now: module, old: folder} {
		if got := used(s); got != filepath.Join(folder, "default.pgo") {
			t.Errorf("%s is built with the profile %q, want that of %s", s.Commit, got, folder)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "default.pgo")); err != nil || string(text) != sample("old") {
		t.Errorf("the old side's profile is not its own: %v", err)
	}

	// A profile that GOFLAGS names and that changes is another build.
	other := filepath.Join(t.TempDir(), "other.pgo")
	t.Setenv("GOFLAGS", "-pgo="+other)
	var folders []string
	for _, function := range []string{"one", "two", "one"} {
		write(t, filepath.Dir(other), filepath.Base(other), sample(function))
		folder, err := old.products(t.Context(), Target{Package: ".", Test: true}, "-pgo="+other)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, folder)
	}
	if folders[0] == folders[1] || folders[0] != folders[2] {
		t.Errorf("the builds with two profiles, and with the first one again: %q", folders)
	}
}

// A failed build reports the compiler's output, and an unknown revision is an error; both stop when
// the context ends.
func TestLayoutsErrors(t *testing.T) {
	module, git := repository(t)
	write(t, module, "main.go", "package main\n\nfunc main() { missing() }\n")
	git("commit", "-q", "-a", "-m", "does not build")
	s, err := Revision(t.Context(), module, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Layouts(t.Context(), Target{Package: "."}, 2); err == nil || !strings.Contains(err.Error(), "main.go:3:15: undefined: missing") {
		t.Errorf("%v", err)
	}
	if _, err := Revision(t.Context(), module, "no-such"); !errors.Is(err, ErrNoRevision) || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("%v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Layouts(ended, Target{Package: "."}, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if s, err := WorkingTree(t.Context(), t.TempDir()); err != nil || s.Commit != "" {
		t.Errorf("outside of git: %+v, %v", s, err)
	}
}

func TestQuotedFields(t *testing.T) {
	got := quotedFields(` -a  '-ldflags=-X a=b' "-tags=x y" -v`)
	if want := "-a|-ldflags=-X a=b|-tags=x y|-v"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

// The cache drops what nobody has asked for lately.
func TestTrim(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": 72 * time.Hour, "new": time.Hour} {
		write(t, filepath.Join(root, name), "layout1", "x")
		if err := os.Chtimes(filepath.Join(root, name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	err := trim(root, now.Add(-keptFor))
	left, _ := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "new" {
		t.Errorf("left: %q, %v", left, err)
	}
}

// Layouts that are built side by side share one checkout.
func TestFolderSideBySide(t *testing.T) {
	module, _ := repository(t)
	source, err := Revision(t.Context(), module, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := source.Folder(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// A clone without history has the commits that were fetched, whatever fetched them, and an error
// says what to do about others. git's own reasons are passed on.
func TestRevisionOfShallowClone(t *testing.T) {
	module, git := repository(t)
	write(t, module, "main.go", "package main\n\nfunc main() { println(\"second\", tagged) }\n")
	git("commit", "-q", "-a", "-m", "second")
	git("checkout", "-q", "-b", "topic")
	write(t, module, "main.go", "package main\n\nfunc main() { println(\"third\", tagged) }\n")
	git("commit", "-q", "-a", "-m", "third")
	clone := filepath.Join(t.TempDir(), "clone")
	git("clone", "-q", "--depth=1", "--branch=topic", "file://"+filepath.Dir(module), clone)
	git("-C", clone, "fetch", "-q", "--depth=1", "origin", "+main:refs/remotes/origin/main")
	below := filepath.Join(clone, "below")
	base, err := Revision(t.Context(), below, "origin/main")
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	programs, err := base.Layouts(t.Context(), Target{Package: "."}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, programs[0]); got != "second plain" {
		t.Errorf("says %q", got)
	}
	empty := t.TempDir()
	git("init", "-q", empty)
	for _, of := range []struct{ folder, revision, want string }{
		{below, "HEAD~1", "a shallow clone: `git fetch --unshallow`, or fetch-depth: 0 with actions/checkout"},
		{empty, "HEAD", "it has no commits"},
		{module, "nowhere", ErrNoRevision.Error()},
		{t.TempDir(), "HEAD", "not a git repository"},
	} {
		if _, err := Revision(t.Context(), of.folder, of.revision); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s in %s: %v; want %q", of.revision, of.folder, err, of.want)
		}
	}
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	if _, err := Revision(t.Context(), module, "HEAD"); err == nil || !strings.Contains(err.Error(), "dubious ownership") {
		t.Errorf("another's repository: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Revision(t.Context(), module, "HEAD"); err == nil || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without git: %v", err)
	}
}

// A clone without files fetches a revision's when it is built.
func TestRevisionOfPartialClone(t *testing.T) {
	for _, filter := range []string{"blob:none", "tree:0"} {
		module, git := repository(t)
		git("config", "uploadpack.allowFilter", "true")
		write(t, module, "main.go", "package main\n\nfunc main() { println(\"second\", tagged) }\n")
		git("commit", "-q", "-a", "-m", "second")
		clone := filepath.Join(t.TempDir(), "clone")
		git("clone", "-q", "--filter="+filter, "file://"+filepath.Dir(module), clone)
		base, err := Revision(t.Context(), filepath.Join(clone, "below"), "HEAD~1")
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		folder, err := base.Folder(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "main.go")); err != nil || !strings.Contains(string(text), "stamp") {
			t.Errorf("%s: %q, %v", filter, text, err)
		}
	}
}

// A build that is interrupted leaves neither files nor compilers.
func TestInterruptedBuild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing interrupts a process there")
	}
	module, _ := repository(t)
	source, err := WorkingTree(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	// A tool that hangs stands for one that takes its time. It says which process it is.
	pid := filepath.Join(t.TempDir(), "pid")
	tool := filepath.Join(t.TempDir(), "tool")
	write(t, filepath.Dir(tool), "tool", "#!/bin/sh\ncase \"$*\" in *-V=full*) exec \"$@\";; esac\necho $$ >"+pid+".new\nmv "+pid+".new "+pid+"\nexec sleep 100\n")
	if err := os.Chmod(tool, 0o700); err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var building []byte
	go func() {
		for ; len(building) == 0 && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			building, _ = os.ReadFile(pid)
		}
		cancel()
	}()
	if _, err := source.Layouts(ctx, Target{Package: ".", Flags: []string{"-toolexec=" + tool}}, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	id := strings.TrimSpace(string(building))
	runs := func() bool {
		text, _ := exec.Command("ps", "-o", "stat=", "-p", id).Output()
		return len(text) > 0 && text[0] != 'Z' // it may have ended, and nobody asked how
	}
	for began := time.Now(); runs() && time.Since(began) < 5*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if id == "" || runs() {
		t.Errorf("process %q still runs", id)
		_ = exec.Command("kill", id).Run()
	}
}

// What a build takes from beside the repository is named by paths that lead there, and not by
// modules whose names have "use" before a slash, such as those of clipperhouse.
func TestTakenFromBeside(t *testing.T) {
	for text, shared := range map[string]bool{
		"require (\n\tgithub.com/clipperhouse/displaywidth v0.10.0 // indirect\n)\n": false,
		"require github.com/clipperhouse/uax29/v2 v2.6.0\n":                          false,
		"replace example.org/a => ./a\n":                                             false,
		"replace example.org/a => ../a\n":                                            false,
		"replace example.org/a => ../../a\n":                                         true,
		"replace example.org/a => /elsewhere/a\n":                                    true,
		"use ../../a\n":              true,
		"use (\n\t../../a\n\t.\n)\n": true,
		"use /elsewhere/a\n":         true,
		"use (\n\t./a\n)\n":          false,
	} {
		module, git := repository(t)
		name := "go.mod"
		if strings.HasPrefix(text, "use") {
			name = "go.work"
		}
		write(t, module, name, "go 1.24\n\n"+text)
		git("add", ".")
		git("commit", "-q", "-m", "second")
		source, err := Revision(t.Context(), module, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		if source.shared != shared {
			t.Errorf("%s: %q: taken from beside: %v", name, text, source.shared)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
}
