package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/test/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

const (
	caseName = "Encode/msg=0/op=encode"
	rowA     = caseName + "/codec=a"
	rowB     = caseName + "/codec=b"
	rowBase  = caseName + "/codec=base"
)

// recordOf is a record of that many blocks, whose run was started so many hours after the first.
func recordOf(rng *rand.Rand, blocks, hour int, slower map[string]float64) *record.Record {
	run := recordtest.Run{Rand: rng, Cases: 1, Blocks: blocks, Slower: slower, Modules: map[string]string{"codec=base": "example.org/base v1.0.0", "codec=control": "example.org/base v1.0.0"}}
	rec := run.Record()
	rec.Run.Started = time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
	rec.Run.Commit = fmt.Sprintf("%040x", hour)
	return rec
}

// historyOf saves records in a folder, as 0.txt, 1.txt and so on, and reads it.
func historyOf(t *testing.T, records ...*record.Record) *History {
	t.Helper()
	folder := t.TempDir()
	for i, rec := range records {
		if err := rec.Save(filepath.Join(folder, fmt.Sprintf("%02d.txt", i))); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, folder)
}

func read(t *testing.T, folder string) *History {
	t.Helper()
	h, err := Read(t.Context(), folder, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A row that became slower at some commit: the history says which one. The machine's own
// speed, which recordtest draws anew for each run, does not show.
func TestTrend(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	const runs, slower = 24, 15
	var records []*record.Record
	for i := range runs {
		factors := map[string]float64{}
		if i >= slower {
			factors[rowA] = 1.1
		}
		records = append(records, recordOf(rng, 8, i, factors))
	}
	h := historyOf(t, records...)
	trends := h.Trends(rowA)
	if len(trends) != 1 {
		t.Fatal(trends)
	}
	tr := trends[0]
	if len(tr.Points) != runs || tr.Anchor != (Anchor{"codec=base", "example.org/base v1.0.0"}) {
		t.Fatalf("%d points, anchor %v", len(tr.Points), tr.Anchor)
	}
	if len(tr.Changes) != 1 || tr.Changes[0].Point != slower || math.Abs(tr.Changes[0].Factor-1.1) > 0.02 || tr.Changes[0].P > 0.01 ||
		*tr.Changes[0].Commit != records[slower].Run.Commit || math.Abs(tr.Changes[0].Before-tr.Points[0].Ratio.Value) > 0.02 {
		t.Fatalf("changes %+v", tr.Changes)
	}
	if trends := h.Trends(rowB); len(trends[0].Changes) != 0 {
		t.Fatalf("%+v", trends[0].Changes)
	}
	if trends := h.Trends(rowBase); len(trends) != 0 {
		t.Fatalf("the anchor: %+v", trends[0])
	}
	if trends := h.Trends("Encode/none"); len(trends) != 0 {
		t.Fatal(trends)
	}
	if rows := h.Rows(); len(rows) != 7 || rows[0] != rowA {
		t.Fatal(rows)
	}
}

// A point has what verdict.Analyze says of the record. Rows without a ratio have none.
func TestPointIsAnalyzed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	records := []*record.Record{recordOf(rng, 3, 0, nil), recordOf(rng, 10, 1, nil)} // 3 blocks are too few for an interval
	h := historyOf(t, records...)
	for i, rec := range records {
		for _, r := range verdict.Analyze(rec).Cases[0].Rows {
			trends := h.Trends(r.Row.Name)
			if r.Ratio == nil {
				if len(trends) > 0 {
					t.Errorf("%s has a trend", r.Row.Name)
				}
				continue
			}
			p := trends[0].Points[i]
			if p.NSOp != *r.NSOp || *p.AllocsOp != *r.AllocsOp || *p.BytesOp != *r.BytesOp || p.Metrics["encoded-bytes"] != 377 || p.Blocks != len(rec.Blocks) || p.Module != r.Row.Module ||
				!p.Started.Equal(rec.Run.Started) || *p.Commit != rec.Run.Commit || p.Go != "go1.26.0" || p.Run != fmt.Sprintf("%02d.txt", i) || p.Ratio != *r.Ratio {
				t.Fatalf("%+v\n%+v", p, r)
			}
		}
	}
}

// A run that is in the folder twice counts once, as the longer of its records.
func TestCopies(t *testing.T) {
	whole := recordOf(rand.New(rand.NewPCG(7, 1)), 10, 1, nil)
	part := *whole
	part.Blocks = whole.Blocks[:4]
	part.Run.Complete = false
	other := recordOf(rand.New(rand.NewPCG(8, 1)), 10, 1, nil) // started in the same moment
	h := historyOf(t, &part, whole, other, whole)
	if len(h.runs) != 2 || h.runs[0].about.Partial || h.runs[1].about.Partial || len(h.Skipped) != 2 || !strings.Contains(errors.Join(h.Skipped...).Error(), "00.txt: the same run as 01.txt") {
		t.Errorf("%+v, skipped %v", h.runs, h.Skipped)
	}
	if trends := h.Trends(rowA); len(trends[0].Points) != 2 {
		t.Errorf("%+v", trends[0].Points)
	}
	if runs := historyOf(t, &part).runs; len(runs) != 1 || !runs[0].about.Partial {
		t.Errorf("%+v", runs)
	}
}

// What is no record keeps no other out.
func TestSkipped(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 1))
	none, failed := recordOf(rng, 0, 1, nil), recordOf(rng, 6, 2, nil)
	for i := range failed.Rows {
		failed.Rows[i].Proof = record.ProofFailed + "wrong bytes"
	}
	failed.Rows[0].Proof, failed.Rows[2].Proof = record.ProofOK, record.ProofOK
	err := errors.Join(
		os.WriteFile(filepath.Join(folder, "a.txt"), []byte("cut off"), 0o666),
		os.WriteFile(filepath.Join(folder, "notes.md"), []byte("not looked at"), 0o666),
		os.Mkdir(filepath.Join(folder, "folder.txt"), 0o777),
		recordOf(rng, 6, 3, nil).Save(filepath.Join(folder, "b.txt")),
		failed.Save(filepath.Join(folder, "c.txt")),
		none.Save(filepath.Join(folder, "d.txt")))
	if err != nil {
		t.Fatal(err)
	}
	h := read(t, folder)
	var figures []int
	for _, r := range h.runs {
		figures = append(figures, len(r.rows))
	}
	if fmt.Sprint(figures) != "[0 2 7]" || len(h.Skipped) != 1 || !strings.Contains(h.Skipped[0].Error(), "a.txt: it is not a Postage record") {
		t.Errorf("rows %v, skipped %v", figures, h.Skipped)
	}
	if points := h.Trends(rowB)[0].Points; len(points) != 1 || points[0].Run != "b.txt" {
		t.Errorf("%+v", points)
	}
	if _, err := Read(t.Context(), filepath.Join(folder, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ended, folder, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Records of other machines, or with another anchor, have trends of their own.
func TestMachinesAndAnchors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var records []*record.Record
	for i := range 6 {
		records = append(records, recordOf(rng, 6, i, nil))
	}
	elsewhere := recordOf(rng, 6, 6, nil)
	elsewhere.Machine.Cores = 64
	elsewhere.Run.GOMAXPROCS = 64
	upgraded, seeded, fewer := recordOf(rng, 6, 7, nil), recordOf(rng, 6, 8, nil), recordOf(rng, 6, 9, nil)
	upgraded.Row(rowBase).Module = "example.org/base v2.0.0"
	seeded.Run.Seed = 7
	fewer.Run.GOMAXPROCS = 1
	records = append(records, elsewhere, upgraded, seeded, fewer, recordOf(rng, 6, -5, nil))

	var got []string
	for _, tr := range historyOf(t, records...).Trends(rowA) {
		got = append(got, fmt.Sprintf("%s %s: %d from %s", tr.Machine[len("linux/amd64, Test, "):][:2], tr.Anchor.Version, len(tr.Points), tr.Points[0].Run))
	}
	want := []string{ // the last file is of the first run
		"2  example.org/base v1.0.0, GOMAXPROCS 1: 1 from 09.txt",
		"2  example.org/base v1.0.0, seed 7: 1 from 08.txt",
		"2  example.org/base v2.0.0: 1 from 07.txt",
		"64 example.org/base v1.0.0: 1 from 06.txt",
		"2  example.org/base v1.0.0: 7 from 10.txt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The old selves of a run against a revision have no trend: they are named after it.
func TestOldSelvesHaveNoTrend(t *testing.T) {
	rec := recordOf(rand.New(rand.NewPCG(7, 1)), 10, 1, nil)
	recordtest.Against(rec, 1)
	h := historyOf(t, rec)
	if rows := h.Rows(); len(rows) != 7 || len(h.Trends(rowA+"/rev=abc1234")) > 0 {
		t.Errorf("%v", rows)
	}
}
