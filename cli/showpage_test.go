package cli

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"postage/internal/feature/claims"
	"postage/internal/feature/show"
	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
	"postage/stage"
)

func TestReport(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}
	a, b := saved(t, folder, "a.txt", r.Record()), saved(t, folder, "b.txt", r.Record())
	out := filepath.Join(folder, "costs.html")
	code, stdout, stderr := command("show", a, b, "--html", out)
	if code != 0 || stdout != "" || !strings.Contains(stderr, "page saved as "+out) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.txt", "b.txt", `id="case1"`, `id="case4"`, "a.txt: 0, encoded</a>", `<strong>a</strong><td class="left">base`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if code, _, stderr := command("show", filepath.Join(folder, "nowhere.txt"), "--html", out); code != 2 || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if again, err := os.ReadFile(out); err != nil || string(again) != string(page) {
		t.Error("a page that could not be made replaced the old one")
	}
	if code, _, stderr := command("show", a, a, "--html", out); code != 2 || !strings.Contains(stderr, "given twice") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := command("show", a, "--html", filepath.Join(folder, "no", "x.html")); code != 2 || stderr == "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// everything is a record of all rows of all stages, as if they had been measured.
func everything(blocks int) *record.Record {
	const rounds = 12
	rng := rand.New(rand.NewPCG(7, 9))
	plan := lab.Plan{Entries: lab.Entries(stage.Suites())}
	rec := lab.NewRecord(plan, record.Run{Seed: 7, Precision: 0.01, Complete: true}, record.Machine{GOOS: "linux", GOARCH: "amd64", CPU: "Test", Cores: 2, Go: "go1.26.0"})
	cost := make([]float64, len(rec.Rows))
	cases := map[string][]int{}
	for i := range rec.Rows {
		row := &rec.Rows[i]
		row.N = 100
		cost[i] = 1e4 * math.Exp(1.2*rng.NormFloat64())
		if row.Role == record.RoleControl {
			cost[i] = cost[cases[row.Case][0]] // the baseline's, which comes first
		}
		cases[row.Case] = append(cases[row.Case], i)
		if !row.OK() {
			continue
		}
		row.Metrics = map[string]float64{"p99.9-ns": math.Round(16 * cost[i])}
	}
	for _, name := range rec.Cases() {
		for b := range blocks {
			block := record.Block{Case: name, Number: b + 1}
			for _, i := range cases[name] {
				row := &rec.Rows[i]
				if !row.OK() {
					continue
				}
				s := record.Series{Row: row.Name, Counters: map[string][]float64{}}
				mean := cost[i] * math.Exp(0.03*rng.NormFloat64())
				for r := range rounds {
					ns := 100 * mean * math.Exp(0.03*rng.NormFloat64())
					s.Position = append(s.Position, r)
					s.WallNS = append(s.WallNS, int64(ns))
					s.CPUNS = append(s.CPUNS, int64(1.1*ns))
					s.Allocs = append(s.Allocs, 100*int64(i%40))
					s.Bytes = append(s.Bytes, 100*int64(i%40)*1234)
				}
				block.Series = append(block.Series, s)
			}
			rec.Blocks = append(rec.Blocks, block)
		}
	}
	return rec
}

// No line of a run of all rows, or of its comparison is wider than 80 columns, and no
// two rows of a case have the same name there.
func TestNothingIsWiderThan80Columns(t *testing.T) {
	t.Parallel()
	rec := everything(7)
	send := *rec
	send.Rows = slices.DeleteFunc(slices.Clone(rec.Rows), func(r record.Row) bool { return r.Stage != "send" })
	send.Blocks = slices.DeleteFunc(slices.Clone(rec.Blocks), func(b record.Block) bool { return !strings.HasPrefix(b.Case, "Send/") })
	other := send
	other.Machine.Cores = 64
	var all bytes.Buffer
	err := errors.Join(
		show.Record(&all, rec, lab.Stages(stage.Suites()), report.Form{}),
		show.Changes(&all, verdict.CompareRecords(&send, &other, verdict.DefaultThresholds()), report.Form{}),
		show.Changes(&all, verdict.ComparePaired(gated(3, 14, 1.05), verdict.DefaultThresholds()), report.Form{}),
		claims.Check(claims.All(), []*record.Record{rec}).Print(&all, report.Form{}))
	if err != nil {
		t.Fatal(err)
	}
	wide := 0
	for line := range strings.Lines(all.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			if wide++; wide <= 20 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	if wide > 20 {
		t.Errorf("%d such lines", wide)
	}
}
