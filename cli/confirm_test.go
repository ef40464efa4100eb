package cli

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postage/build"
	"postage/record"
	"postage/record/recordtest"
	"postage/verdict"
)

// inFolder runs postage in a process of its own, so that it can be measured with.
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

// Rows are counted as rows, and their cases as cases.
func TestRegressedText(t *testing.T) {
	r := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 14}
	old := r.Record()
	r.Slower = map[string]float64{"Encode/msg=0/op=encode/codec=a": 2, "Encode/msg=0/op=encode/codec=b": 2}
	c := verdict.CompareRecords(old, r.Record(), verdict.DefaultThresholds())
	if got, want := regressedText(c), "2 rows of 1 case regressed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What regressed is measured again: a slowdown that is there is confirmed, one that only
// the record has is not.
func TestGateConfirms(t *testing.T) {
	folder := t.TempDir()
	real := filepath.Join(folder, "real.txt")
	if code, _, stderr := inFolder(t, folder, "run", "Encode/msg=tiny/op=encode/codec=json,msgp", "--budget", "3m", "--precision", "40%", "--out", real); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	// The same run with one row's times multiplied.
	scaled := func(name string, factor float64) string {
		rec, err := record.Load(real)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range rec.Blocks {
			series := block.Of("Encode/msg=tiny/op=encode/codec=msgp")
			for i := range series.WallNS {
				series.WallNS[i] = int64(factor * float64(series.WallNS[i]))
				series.CPUNS[i] = int64(factor * float64(series.CPUNS[i]))
			}
		}
		return saved(t, folder, name, rec)
	}
	fast, slow := scaled("fast.txt", 0.1), scaled("slow.txt", 10)

	code, stdout, stderr := inFolder(t, folder, "gate", fast, real, "--confirm", "3m")
	if code != 1 || !strings.Contains(stdout, "1 regressed") || !strings.Contains(stdout, "fresh blocks") || !strings.Contains(stderr, "measuring again") {
		t.Errorf("ten times as slow: exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = inFolder(t, folder, "gate", real, slow, "--confirm", "3m", "--json")
	if code != 3 || !strings.Contains(stdout, "measured to confirm it, which do not") {
		t.Errorf("slow in the record alone: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = inFolder(t, folder, "gate", real, slow, "--confirm", "0"); code != 1 || strings.Contains(stderr, "measuring again") {
		t.Errorf("not to be confirmed: exit %d\n%s%s", code, stdout, stderr)
	}
	rec, err := record.Load(slow)
	if err != nil {
		t.Fatal(err)
	}
	rec.Run.Program = "another"
	code, stdout, stderr = inFolder(t, folder, "gate", real, saved(t, folder, "other.txt", rec))
	if code != 1 || !strings.Contains(stdout, "not confirmed on fresh blocks: the run was measured by another build") {
		t.Errorf("of another build: exit %d\n%s%s", code, stdout, stderr)
	}
}

// Where git has the baseline's code, that is measured again too: what regressed because the
// machine was another from run to run is not confirmed.
func TestGateConfirmsWithTheBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("builds postage a second time")
	}
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the source is no git repository")
		}
		t.Skip("the source is no git repository")
	}
	folder := t.TempDir()
	source := filepath.Join(folder, "source")
	if text, err := exec.Command("git", "clone", "-q", "--shared", repository, source).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, text)
	}
	now := filepath.Join(folder, "now.txt")
	if code, _, stderr := inFolder(t, source, "run", "Encode/msg=tiny/op=encode/codec=json,msgp", "--budget", "3m", "--precision", "40%", "--out", now); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	rec, err := record.Load(now)
	if err != nil {
		t.Fatal(err)
	}
	head, err := exec.Command("git", "-C", source, "rev-parse", "HEAD").Output()
	if err != nil || rec.Run.Commit != strings.TrimSpace(string(head)) {
		t.Fatalf("commit %q, want %q: %v", rec.Run.Commit, head, err)
	}
	for _, block := range rec.Blocks {
		series := block.Of("Encode/msg=tiny/op=encode/codec=msgp")
		for i := range series.WallNS {
			series.WallNS[i] /= 10
			series.CPUNS[i] /= 10
		}
	}
	// The same code takes nearly the same time, but this is a test's program and that is not.
	limits := filepath.Join(folder, "limits.yaml")
	if err := os.WriteFile(limits, []byte("time: 100%\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		commit string
		code   int
		says   string
	}{
		{rec.Run.Commit, 3, "measured to confirm it, which do not"},
		{"0123456789012345678901234567890123456789", 1, "git knows no such revision"},
		{rec.Run.Commit + build.Dirty, 1, "not committed"},
	} {
		rec.Run.Commit = r.commit
		code, stdout, stderr := inFolder(t, source, "gate", saved(t, folder, "fast.txt", rec), now, "--confirm", "3m", "--thresholds", limits, "--json")
		if code != r.code || !strings.Contains(stdout, r.says) {
			t.Errorf("baseline of %s: exit %d, want %d and %q:\n%s%s", r.commit, code, r.code, r.says, stdout, stderr)
		}
	}
	// A program that is not committed says so.
	if err := os.WriteFile(filepath.Join(source, "new.go"), []byte("package postage\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := inFolder(t, source, "run", "Encode/msg=tiny/op=encode/codec=json", "--budget", "4s", "--out", now); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if rec, err := record.Load(now); err != nil || rec.Run.Commit != strings.TrimSpace(string(head))+build.Dirty {
		t.Errorf("with a new file: %q, %v", rec.Run.Commit, err)
	}
}

// A run against a revision builds it, and is compared by itself.
func TestRunAgainst(t *testing.T) {
	if testing.Short() {
		t.Skip("builds postage a second time")
	}
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the source is no git repository")
		}
		t.Skip("the source is no git repository")
	}
	out := filepath.Join(t.TempDir(), "r.txt")
	// This folder is in the source.
	code, stdout, stderr := inFolder(t, ".", "run", "Encode/msg=tiny/op=encode/codec=json", "--against", "HEAD", "--layouts", "2", "--budget", "2m", "--precision", "40%", "--out", out)
	if code != 0 || !strings.Contains(stdout, "codec=json/rev=") || !strings.Contains(stdout, "the same rounds") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	rec, err := record.Load(out)
	if err != nil || len(revisionOf(rec)) < 40 {
		t.Fatalf("revision %q: %v", revisionOf(rec), err)
	}
	code, stdout, stderr = inFolder(t, t.TempDir(), "compare", out, "--json")
	if code != 0 || !strings.Contains(stdout, `"anchor": "the same rounds"`) {
		t.Errorf("compare: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = inFolder(t, t.TempDir(), "gate", out, "--confirm", "0"); code == 2 {
		t.Errorf("gate: exit %d\n%s%s", code, stdout, stderr)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	for _, args := range [][]string{
		{"clone", "-q", "--shared", repository, broken},
		{"-C", broken, "rm", "-q", "cli/run.go"},
		{"-C", broken, "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "does not build"},
	} {
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
	}
	for _, wrong := range []struct{ folder, revision, says string }{
		{broken, "HEAD", "undefined: "},
		{".", "no-such-revision", "git knows no such revision"},
		{t.TempDir(), "HEAD", "not in the source of this program"},
	} {
		if code, _, stderr := inFolder(t, wrong.folder, "run", "Encode/msg=tiny/op=encode/codec=json", "--against", wrong.revision); code != 2 || !strings.Contains(stderr, wrong.says) {
			t.Errorf("against %s in %s: exit %d, %s", wrong.revision, wrong.folder, code, stderr)
		}
	}
}
