package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"postage/internal/feature/build"
)

// Both sides are built as this program was: with its tags, its compiler and linker flags, and its
// profile, or each with the profile beside its own main package.
func TestBuildFlags(t *testing.T) {
	for pgo, want := range map[string]string{
		"":                      "-pgo=off",
		"/cmd/main/default.pgo": "-pgo=auto",
		"default.pgo":           "-pgo=auto", // with -trimpath
		"/elsewhere/cpu.pgo":    "-pgo=/elsewhere/cpu.pgo",
	} {
		info := &debug.BuildInfo{Path: "postage/cmd/postage", Settings: []debug.BuildSetting{
			{Key: "-tags", Value: "a,b"}, {Key: "-ldflags", Value: "-X main.v=1 -s"}, {Key: "-gcflags", Value: "-B"}, {Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: "7"},
		}}
		if pgo != "" {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: "-pgo", Value: pgo})
		}
		if got, want := strings.Join(buildFlags(info), "|"), "-tags=a,b|-ldflags=-X main.v=1 -s|-gcflags=-B|"+want; got != want {
			t.Errorf("profile %q: %s, want %s", pgo, got, want)
		}
	}
}

// inFolder runs postage in its own process, which measuring requires.
func inFolder(t *testing.T, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(built(t), args...)
	cmd.Dir = folder
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// A revision that can't be built, or isn't there, is an error that says so. TestWorkflow has one
// that can, and what the compiler says is build's TestLayoutsErrors.
func TestRunAgainstRefused(t *testing.T) {
	t.Parallel()
	needRepository(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if text, err := exec.Command("git", "clone", "-q", "--shared", repository, broken).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, text)
	}
	// Go finds this before it compiles anything.
	if err := os.WriteFile(filepath.Join(broken, "internal/kit/words/broken.go"), []byte("package words\n\nimport _ \"postage/missing\"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-C", broken, "add", "-A"},
		{"-C", broken, "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "does not build"},
	} {
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
	}
	for _, wrong := range []struct{ folder, revision, says string }{
		{broken, "HEAD", "postage/missing"},
		{".", "no-such-revision", "git knows no such revision"},
		{t.TempDir(), "HEAD", "not in the source of this program"},
	} {
		if code, _, stderr := inFolder(t, wrong.folder, "run", "Encode/msg=tiny/op=encode/codec=json", "--against", wrong.revision); code != 2 || !strings.Contains(stderr, wrong.says) {
			t.Errorf("against %s in %s: exit %d, %s", wrong.revision, wrong.folder, code, stderr)
		}
	}
}

// needRepository skips a test of what git knows about this source.
func needRepository(t *testing.T) {
	t.Helper()
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the source is not a git repository")
		}
		t.Skip("the source is not a git repository")
	}
}

// The commit is the one that go stored in the program, with a mark if there were uncommitted changes.
func TestCommitOf(t *testing.T) {
	for modified, want := range map[string]string{"": "", "false": "7abc", "true": "7abc" + build.Dirty} {
		info := &debug.BuildInfo{}
		if want != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "7abc"}, {Key: "vcs.modified", Value: modified}}
		}
		if got := commitOf(info); got != want {
			t.Errorf("modified %q: %q, want %q", modified, got, want)
		}
	}
}

// One revision is compared with the working tree, and two with each other. Dots without one are an
// error.
func TestAgainstRange(t *testing.T) {
	for against, want := range map[string][]string{"main": {"main", ""}, "v1.2.0..main": {"v1.2.0", "main"}, "main..": nil, "..main": nil, "..": nil, "v1.2.0...main": nil} {
		v, err := (&measureFlags{against: against}).variation()
		if (err != nil) != (want == nil) || !slices.Equal(v.Values, want) {
			t.Errorf("--against %s: %q, %v", against, v.Values, err)
		}
	}
}
