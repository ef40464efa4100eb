package cli

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/record"
	"postage/record/recordtest"
)

// command runs postage in this process.
func command(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = postage.run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func saved(t *testing.T, folder, name string, rec *record.Record) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// A gate says by its exit code what it found, and never 0 when there is no answer.
func TestGateExitCodes(t *testing.T) {
	const row = "Encode/msg=0/op=encode/codec=c"
	folder := t.TempDir()
	run := func(seed uint64, blocks int, slower float64) *record.Record {
		r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, seed)), Cases: 1, Blocks: blocks, Slower: map[string]float64{row: slower}}
		return r.Record()
	}
	base := saved(t, folder, "base.txt", run(1, 10, 1))
	without, failed, elsewhere := run(2, 10, 1), run(2, 10, 1), run(2, 10, 1)
	without.Rows = without.Rows[:4]
	for i := range without.Blocks {
		without.Blocks[i].Series = without.Blocks[i].Series[:4]
	}
	failed.Row(row).Proof = record.ProofFailed + "decoded 7, want 8"
	elsewhere.Machine.CPU = "Other"
	reseeded, narrow := run(2, 10, 1), run(2, 10, 1)
	reseeded.Run.Seed, narrow.Run.GOMAXPROCS = 7, 1
	empty := run(2, 0, 1)
	empty.Rows = nil
	damaged := filepath.Join(folder, "damaged.txt")
	text, _ := os.ReadFile(base)
	if err := os.WriteFile(damaged, text[:len(text)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	small := saved(t, folder, "small.txt", without)
	// Nobody is left to take times against.
	lonely := func(seed uint64, slower float64) *record.Record {
		rec := run(seed, 10, slower)
		for _, contender := range []string{"codec=base", "codec=control", "codec=a", "codec=b", "floor=memcpy"} {
			rec.Row("Encode/msg=0/op=encode/" + contender).Proof = record.ProofFailed + "decoded 7, want 8"
		}
		return rec
	}
	for _, r := range []struct {
		name      string
		base, now string
		code      int
		says      string
	}{
		{"the same code", base, saved(t, folder, "same.txt", run(2, 10, 1)), 0, "5 passed"},
		{"a slowdown", base, saved(t, folder, "slow.txt", run(3, 10, 1.1)), 1, "1 regressed"},
		{"few blocks", base, saved(t, folder, "few.txt", run(4, 3, 1)), 3, "inconclusive"},
		{"an empty record", base, saved(t, folder, "empty.txt", empty), 2, "no row in common"},
		{"an empty baseline", saved(t, folder, "empty2.txt", empty), base, 2, "no row in common"},
		{"a missing file", base, filepath.Join(folder, "nowhere.txt"), 2, "no such file"},
		{"a missing baseline", filepath.Join(folder, "nowhere.txt"), base, 2, "no such file"},
		{"a damaged file", base, damaged, 2, "expected"},
		{"a baseline without the row", small, base, 2, row + ": in new only"},
		{"a run without the row", base, small, 2, row + ": in old only"},
		{"a row that failed", base, saved(t, folder, "failed.txt", failed), 2, "decoded 7, want 8"},
		{"no baseline", saved(t, folder, "lonely.txt", lonely(1, 1)), saved(t, folder, "lonely2.txt", lonely(2, 5)), 2, "no time can be gated"},
		{"another machine", base, saved(t, folder, "elsewhere.txt", elsewhere), 2, "different machines"},
		{"another seed", base, saved(t, folder, "reseeded.txt", reseeded), 2, "new with seed 7"},
		{"another GOMAXPROCS", base, saved(t, folder, "narrow.txt", narrow), 2, "GOMAXPROCS 2, new with 1"},
	} {
		t.Run(r.name, func(t *testing.T) {
			code, stdout, stderr := command("gate", r.base, r.now)
			if code != r.code || !strings.Contains(stdout+stderr, r.says) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, r.code, r.says, stdout, stderr)
			}
			if code == 2 && stdout != "" {
				t.Errorf("an answer where there is none: %s", stdout)
			}
		})
	}
}

// In a run against a revision, a row that the revision does not have passes, and one that
// only it has does not.
func TestGateOfNewRow(t *testing.T) {
	folder := t.TempDir()
	against := func(lost string) string {
		r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
		rec := r.Record()
		recordtest.Against(rec, 1)
		rec.Row("Encode/msg=0/op=encode/" + lost).Proof = record.ProofNotPossible + "there is no such row"
		return saved(t, folder, strings.ReplaceAll(lost, "/", "-")+".txt", rec)
	}
	code, stdout, stderr := command("gate", against("codec=a/rev=abc1234"))
	if code != 0 || !strings.Contains(stdout, "4 passed") || !strings.Contains(stderr, "codec=a: in new only") {
		t.Errorf("new: exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command("gate", against("codec=b"))
	if code != 2 || stdout != "" || !strings.Contains(stderr, "codec=b: in old only") {
		t.Errorf("lost: exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestGateOutputs(t *testing.T) {
	folder := t.TempDir()
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	a, b := saved(t, folder, "a.txt", r.Record()), saved(t, folder, "b.txt", r.Record())
	junit, limits := filepath.Join(folder, "gate.xml"), filepath.Join(folder, "gate.yaml")
	if err := os.WriteFile(limits, []byte("time: 90%\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command("gate", a, b, "--markdown", "--junit", junit, "--thresholds", limits)
	if code != 0 || !strings.HasPrefix(stdout, "### Postage: passed") || !strings.Contains(stdout, "time 90%") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if text, _ := os.ReadFile(junit); !bytes.Contains(text, []byte(`tests="5" failures="0"`)) {
		t.Errorf("JUnit: %s", text)
	}
	if err := os.WriteFile(limits, []byte("tme: 90%\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("gate", a, b, "--thresholds", limits); code != 2 || !strings.Contains(stderr, "tme") || !strings.Contains(stderr, "hint:") {
		t.Errorf("a misspelt threshold: exit %d: %s", code, stderr)
	}
	for _, args := range [][]string{{"gate"}, {"gate", a, b, b}, {"compare", a}, {"gate", a, b, "--json", "--markdown"}, {"gate", a, b, "--junit", filepath.Join(folder, "no", "x")}} {
		if code, stdout, stderr := command(args...); code != 2 || stderr == "" || stdout != "" {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
}

func TestCompare(t *testing.T) {
	folder := t.TempDir()
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec, other := r.Record(), r.Record()
	a, b := saved(t, folder, "a.txt", rec), saved(t, folder, "b.txt", other)
	for flag, want := range map[string]string{"--json": `"outcome": "passed"`, "--markdown": "| row | outcome |", "--force": "5 rows: 5 passed"} {
		if code, stdout, stderr := command("compare", a, b, flag); code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d: %s%s", flag, code, stdout, stderr)
		}
	}
	other.Machine.Cores = 8
	b = saved(t, folder, "c.txt", other)
	if code, stdout, stderr := command("compare", a, b); code != 2 || stdout != "" || !strings.Contains(stderr, "hint: --force") {
		t.Errorf("other machine: exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := command("compare", a, b, "--force"); code != 0 || !strings.Contains(stdout, "across machines") {
		t.Errorf("forced: exit %d: %s", code, stdout)
	}
}

func TestShowMarkdown(t *testing.T) {
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	code, stdout, stderr := command("show", saved(t, t.TempDir(), "a.txt", r.Record()), "--markdown")
	if code != 0 || !strings.HasPrefix(stdout, "### `Encode/msg=0/op=encode`\n\n| contender |") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
