package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/feature/bench"
	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
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

// gated is a run against a revision. The old side varies from block to block, and one row is slower
// now.
func gated(seed uint64, blocks int, slower float64) *record.Record {
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, seed)), Cases: 1, Blocks: blocks, Slower: map[string]float64{gatedRow: slower}}
	rec := r.Record()
	recordtest.Against(rec, 1)
	recordtest.Laid(rec, r.Rand, 1, 0)
	for i := range rec.Blocks {
		times := rec.Blocks[i].Of(gatedRow + "/rev=abc1234").WallNS
		for j := range times {
			times[j] = int64(float64(times[j]) / slower)
		}
	}
	return rec
}

const gatedRow = "Encode/msg=0/op=encode/codec=c"

// A gate says by its exit code what it found, and never exits with 0 if there is no answer.
func TestGateExitCodes(t *testing.T) {
	folder := t.TempDir()
	failed, empty := gated(2, 14, 1), gated(2, 0, 1)
	failed.Row(gatedRow).Proof = record.ProofFailed + "decoded 7, want 8"
	empty.Rows = nil
	plain := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	single := plain.Record()
	more := gated(5, 14, 1)
	for i := range more.Blocks {
		for j := range more.Blocks[i].Of(gatedRow).Allocs {
			more.Blocks[i].Of(gatedRow).Allocs[j] += 100
		}
	}
	damaged := filepath.Join(folder, "damaged.txt")
	one := saved(t, folder, "one.txt", single)
	text, _ := os.ReadFile(one)
	if err := os.WriteFile(damaged, text[:len(text)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the same code", []string{saved(t, folder, "same.txt", gated(1, 14, 1))}, 0, "5 passed (a slowdown is under 3.0%)"},
		{"a slowdown", []string{saved(t, folder, "slow.txt", gated(3, 14, 1.05))}, 1, "1 regressed"},
		{"one allocation", []string{saved(t, folder, "more.txt", more)}, 1, "allocs/op 2 to 3"},
		{"a slowdown that may be", []string{saved(t, folder, "maybe.txt", gated(3, 14, 1.03))}, 3, "1 inconclusive"},
		{"few blocks", []string{saved(t, folder, "few.txt", gated(4, 3, 10))}, 3, "5 inconclusive"},
		{"an empty record", []string{saved(t, folder, "empty.txt", empty)}, 2, "made without --against"},
		{"a missing file", []string{filepath.Join(folder, "nowhere.txt")}, 2, "no such file"},
		{"a damaged file", []string{damaged}, 2, "it was cut short"},
		{"a row that failed", []string{saved(t, folder, "failed.txt", failed)}, 2, "decoded 7, want 8"},
		{"against nothing", []string{one}, 2, "made without --against"},
		{"two runs", []string{one, one}, 2, "run --against REVISION`"},
		{"three runs", []string{one, one, one}, 2, "want two runs"},
	} {
		t.Run(r.name, func(t *testing.T) {
			code, stdout, stderr := command(append([]string{"compare", "--gate"}, r.args...)...)
			if code != r.code || !strings.Contains(stdout+stderr, r.says) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, r.code, r.says, stdout, stderr)
			}
			if code == 2 && stdout != "" {
				t.Errorf("the gate had no answer, but printed: %s", stdout)
			}
		})
	}
}

// Too little time is one outcome, asked by any command, in any form: inconclusive, exit code 3, and
// the budget that it takes.
func TestTooLittleTime(t *testing.T) {
	folder := t.TempDir()
	few := gated(4, 3, 10)
	few.Run.Elapsed = 90 * time.Second
	untimed := gated(1, 14, 1)
	untimed.Run.Elapsed = 90 * time.Second
	for i := range 4 { // two rows and their old versions, in a case of their own
		row := *untimed.Row(gatedRow + []string{"", "/rev=abc1234"}[i%2])
		row.Case, row.Proof = "Encode/msg=1/op=encode", record.ProofNotMeasured+"the budget was used up before"
		rename := strings.NewReplacer("msg=0", "msg=1", "codec=c", fmt.Sprint("codec=c", i/2))
		row.Name, row.OldOf, row.Contender = rename.Replace(row.Name), rename.Replace(row.OldOf), rename.Replace(row.Contender)
		untimed.Rows = append(untimed.Rows, row)
	}
	for name, of := range map[string]struct {
		rec    *record.Record
		recipe string
	}{
		"few":     {few, "too little time for 5 of 5 rows, which want 4 blocks each: give --budget 3m0s, or measure fewer"},
		"untimed": {untimed, "too little time for 2 of 7 rows, which want 4 blocks each: give --budget 3m0s, or measure fewer"},
	} {
		file := saved(t, folder, name+".txt", of.rec)
		for form, outcome := range map[string]string{"": "\ninconclusive: ", "--markdown": "### Postage: inconclusive\n\n", "--json": `"outcome": "inconclusive",` + "\n  \"recipe\": \""} {
			code, stdout, stderr := command(strings.Fields("compare --gate " + file + " " + form)...)
			if code != 3 || !strings.Contains(strings.ReplaceAll(stdout, "\n  --budget", " --budget"), outcome+of.recipe) {
				t.Errorf("%s %s: exit %d, want 3 and %q:\n%s%s", name, form, code, outcome+of.recipe, stdout, stderr)
			}
		}
	}
	// A benchmark's forms are others, and its gate is this one.
	var text strings.Builder
	changes := verdict.ComparePaired(few, verdict.DefaultThresholds())
	if err := errors.Join(bench.Print(&text, few, changes, nil, report.Form{}), bench.Print(&text, few, changes, nil, report.Form{Markdown: true})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\ninconclusive: too little time for 5 of 5 rows", "### Benchmarks: inconclusive\n\ntoo little time for 5 of 5 rows"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := benchStatus(nil, few, changes, nil, true); err != exitInconclusive {
		t.Errorf("postage bench --gate: %v", err)
	}
}

// What is the same code on both sides passes the gate, by a record that says so.
func TestGateOfSameCode(t *testing.T) {
	rec := gated(1, 0, 1)
	rec.Rows, rec.Run.Warnings = nil, []string{"5 of 5 are the same code"}
	rec.Run.Vary, rec.Run.Patterns = "@abc1234", []string{"./..."}
	code, stdout, stderr := command("compare", "--gate", saved(t, t.TempDir(), "same.txt", rec), "--markdown")
	if code != 0 || !strings.HasPrefix(stdout, "### Postage: passed\n") || !strings.Contains(stdout, "5 of 5 are the same code") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
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
	code, stdout, stderr := command("compare", "--gate", against("codec=a/rev=abc1234"))
	if code != 0 || !strings.Contains(stdout, "4 passed") || !strings.Contains(stderr, "codec=a: in new only") {
		t.Errorf("new: exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command("compare", "--gate", against("codec=b"))
	if code != 2 || stdout != "" || !strings.Contains(stderr, "codec=b: in old only") {
		t.Errorf("lost: exit %d\n%s%s", code, stdout, stderr)
	}
}

// A run that lost a row has no answer, also where JSON is printed and another row regressed; a run
// with one side is not gated when it is resumed.
func TestGateOfARun(t *testing.T) {
	rec := gated(2, 14, 1.5)
	rec.Row("Encode/msg=0/op=encode/codec=b").Proof = record.ProofNotPossible + "there is no such row"
	root := postage.newRoot()
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	err = postage.suites.printRun(run, rec, &runFlags{measureFlags: measureFlags{formFlags: formFlags{report.Form{JSON: true}}}}, true)
	if status := exitStatus(0); err == nil || errors.As(err, &status) {
		t.Errorf("a lost row: %v, want an error that is no exit status", err)
	}
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	file := saved(t, t.TempDir(), "one.txt", made.Record())
	if code, _, stderr := command("run", "--resume", file, "--budget", "1s", "--gate"); code != exitUsage || !strings.Contains(stderr, "--gate: "+file+" was made without --against") {
		t.Errorf("one side: exit %d: %s", code, stderr)
	}
}

func TestGateOutputs(t *testing.T) {
	folder := t.TempDir()
	a := saved(t, folder, "a.txt", gated(1, 14, 1))
	limits := filepath.Join(folder, "gate.yaml")
	if err := os.WriteFile(limits, []byte("time: 90%\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command("compare", "--gate", a, "--markdown", "--thresholds", limits)
	if code != 0 || !strings.HasPrefix(stdout, "### Postage: passed") || !strings.Contains(stdout, "time 90%") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(limits, []byte("tme: 90%\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("compare", "--gate", a, "--thresholds", limits); code != 2 || !strings.Contains(stderr, "tme") || !strings.Contains(stderr, "hint:") {
		t.Errorf("a misspelt threshold: exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := command("compare", "--gate", a, "--json", "--markdown"); code != 2 || stderr == "" || stdout != "" {
		t.Errorf("two forms: exit %d: %s%s", code, stdout, stderr)
	}
}

// A file of thresholds leaves a gate of counts its own for instructions, unless it names them.
func TestCountThresholds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "thresholds")
	for _, r := range []struct {
		count bool
		text  string
		want  float64
	}{{true, "allocs: 1%", 0.005}, {true, "instructions: 2%", 0.02}, {false, "allocs: 1%", 0.03}} {
		if err := os.WriteFile(file, []byte(r.text), 0o666); err != nil {
			t.Fatal(err)
		}
		flags := benchFlags{count: r.count, thresholds: file}
		if got, err := flags.limits(); err != nil || got.Instructions != r.want {
			t.Errorf("--count=%t, %s: %v, want %v, %v", r.count, r.text, got.Instructions, r.want, err)
		}
	}
}

// Runs of the same name are told apart by their folders, on a page.
func TestRunsOfOneName(t *testing.T) {
	folder := t.TempDir()
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	var files []string
	for _, name := range []string{"laptop", "server"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o777); err != nil {
			t.Fatal(err)
		}
		files = append(files, saved(t, filepath.Join(folder, name), "run.txt", made.Record()))
	}
	page := filepath.Join(folder, "page.html")
	code, _, stderr := command("show", files[0], files[1], "--html", page)
	text, err := os.ReadFile(page)
	if code != 0 || err != nil || !bytes.Contains(text, []byte("laptop/run.txt")) || !bytes.Contains(text, []byte("server/run.txt")) {
		t.Errorf("exit %d, %v: %s", code, err, stderr)
	}
}

func TestCompare(t *testing.T) {
	folder := t.TempDir()
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec, other := r.Record(), r.Record()
	a, b := saved(t, folder, "a.txt", rec), saved(t, folder, "b.txt", other)
	for flag, want := range map[string]string{"--json": `"outcome": "not gated"`, "--markdown": "| row | new/old", "--force": "5 rows: 5 undecided"} {
		if code, stdout, stderr := command("compare", a, b, flag); code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d: %s%s", flag, code, stdout, stderr)
		}
	}
	other.Machine.Cores = 8
	b = saved(t, folder, "c.txt", other)
	if code, stdout, stderr := command("compare", a, b); code != 2 || stdout != "" || !strings.Contains(stderr, "--force compares these anyway") {
		t.Errorf("other machine: exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := command("compare", a, b, "--force"); code != 0 || !strings.Contains(stdout, "across machines") {
		t.Errorf("forced: exit %d: %s", code, stdout)
	}
}

// A record of Go benchmarks is shown as `postage bench` prints it: without advice, and without names
// for the sides that nobody gave.
func TestShowBenchmarks(t *testing.T) {
	rec := gated(3, 14, 1.05)
	for i := range rec.Rows {
		rec.Rows[i].Stage = bench.Stage
	}
	file := saved(t, t.TempDir(), "bench.txt", rec)
	code, stdout, stderr := command("show", file)
	if code != 0 || !strings.HasPrefix(stdout, "benchmark ") || !strings.Contains(stdout, "slower") || strings.Contains(stdout, "instead of") || strings.Contains(stdout, "rev=") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := command("show", file, "--html", file+".html"); code != 2 || !strings.Contains(stderr, "the page is about messages") {
		t.Errorf("a page: exit %d: %s", code, stderr)
	}
}
