package history

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"postage/internal/history/trend"
	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

const (
	caseName = "Encode/msg=0/op=encode"
	rowA     = caseName + "/codec=a"
	rowB     = caseName + "/codec=b"
	rowBase  = caseName + "/codec=base"
)

// A row that became slower at some commit: the history says which one. The machine's own
// speed, which recordtest draws anew for each run, does not show.
func TestTrend(t *testing.T) {
	place := newPlace(t)
	rng := rand.New(rand.NewPCG(7, 1))
	db := opened(t, place)
	const runs, slower = 24, 15
	for i := range runs {
		factors := map[string]float64{}
		if i >= slower {
			factors[rowA] = 1.1
		}
		if a := added(t, db, recordOf(rng, 8, i, factors), "run"); a.Outcome != Added || a.Record != int64(i+1) || a.Figures != 7 || a.Without != 0 || len(a.NewAnchors) > 0 || a.Partial {
			t.Fatalf("%+v", a)
		}
	}
	trends, err := db.Trend(t.Context(), rowA)
	if err != nil || len(trends) != 1 {
		t.Fatal(trends, err)
	}
	tr := trends[0]
	if len(tr.Points) != runs || len(tr.Segments) != 1 || tr.Segments[0].Anchor != (trend.Anchor{Contender: "codec=base", Version: "example.org/base v1.0.0"}) {
		t.Fatalf("%d points, segments %v", len(tr.Points), tr.Segments)
	}
	if len(tr.Changes) != 1 || tr.Changes[0].Point != slower || math.Abs(tr.Changes[0].Factor()-1.1) > 0.02 || tr.Changes[0].P > 0.01 {
		t.Fatalf("changes %+v", tr.Changes)
	}
	if trends, err := db.Trend(t.Context(), rowB); err != nil || len(trends[0].Changes) != 0 {
		t.Fatalf("%+v %v", trends[0].Changes, err)
	}
	if trends, err := db.Trend(t.Context(), rowBase); err != nil || !trends[0].IsAnchor() || len(trends[0].Points) != runs {
		t.Fatalf("the anchor: %+v %v", trends[0], err)
	}
	if trends, err := db.Trend(t.Context(), "Encode/none"); err != nil || len(trends) != 0 {
		t.Fatal(trends, err)
	}
	rows, err := db.Rows(t.Context())
	if err != nil || len(rows) != 7 || rows[0] != rowA {
		t.Fatal(rows, err)
	}
}

// What is read is what verdict.Analyze says of the record.
func TestStoredIsAnalyzed(t *testing.T) {
	place := newPlace(t)
	rng := rand.New(rand.NewPCG(7, 1))
	db := opened(t, place)
	for i, blocks := range []int{3, 10} { // 3 are too few for an interval
		rec := recordOf(rng, blocks, i, nil)
		rec.Run.Seed = 1<<63 + 5
		added(t, db, rec, "run")
		for _, r := range verdict.Analyze(rec).Cases[0].Rows {
			trends, err := db.Trend(t.Context(), r.Row.Name)
			if err != nil {
				t.Fatal(err)
			}
			p := trends[0].Points[i]
			if p.NSOp != *r.NSOp || *p.AllocsOp != *r.AllocsOp || *p.BytesOp != *r.BytesOp || !strings.Contains(string(p.Metrics), `"encoded-bytes":377`) || p.Blocks != blocks || p.Module != r.Row.Module ||
				!p.Started.Equal(rec.Run.Started) || p.Commit != rec.Run.Commit || p.Go != "go1.26.0" || p.Run != "run" {
				t.Fatalf("%+v\n%+v", p, r)
			}
			if r.Ratio == nil {
				if p.Ratio != nil {
					t.Fatalf("the baseline has ratio %v", p.Ratio)
				}
			} else if *p.Ratio != (r.Ratio.Interval) {
				t.Fatalf("ratio %v, analyzed %v", p.Ratio, r.Ratio)
			}
		}
	}
	entries, err := db.Records(t.Context())
	if err != nil || len(entries) != 2 || entries[1].Seed != "9223372036854775813" || entries[1].Blocks != 10 || entries[1].Cases != 1 || entries[1].Figures != 7 {
		t.Fatalf("%+v %v", entries, err)
	}
}

func TestAddAgain(t *testing.T) {
	place := newPlace(t)
	db := opened(t, place)
	whole := recordOf(rand.New(rand.NewPCG(7, 1)), 10, 1, nil)
	part := *whole
	part.Blocks = whole.Blocks[:4]
	part.Run.Complete = false
	other := recordOf(rand.New(rand.NewPCG(8, 1)), 10, 1, nil) // started in the same moment
	for i, step := range []struct {
		rec  *record.Record
		want Outcome
	}{{&part, Added}, {&part, There}, {whole, Continued}, {whole, There}, {&part, Behind}, {other, Added}, {other, There}} {
		if a := added(t, db, step.rec, "run"); a.Outcome != step.want || (a.Record == 1) != (step.rec != other) || a.Partial != (step.rec == &part) {
			t.Errorf("step %d: %+v", i, a)
		}
	}
	entries, err := db.Records(t.Context())
	if err != nil || len(entries) != 2 || entries[0].Partial || entries[0].Blocks != 10 {
		t.Fatalf("%+v %v", entries, err)
	}
	trends, err := db.Trend(t.Context(), rowA)
	if err != nil || len(trends[0].Points) != 2 || trends[0].Points[0].Blocks != 10 {
		t.Fatalf("%+v %v", trends, err)
	}
}

// Records of other machines, or with another anchor, do not continue a trend.
func TestMachinesAndAnchors(t *testing.T) {
	place := newPlace(t)
	rng := rand.New(rand.NewPCG(7, 1))
	db := opened(t, place)
	for i := range 6 {
		added(t, db, recordOf(rng, 6, i, nil), "run")
	}
	elsewhere := recordOf(rng, 6, 6, nil)
	elsewhere.Machine.Cores = 64
	if a := added(t, db, elsewhere, "elsewhere"); len(a.NewAnchors) > 0 {
		t.Errorf("%+v", a)
	}
	upgraded := func(hour int) *record.Record {
		rec := recordOf(rng, 6, hour, nil)
		for i := range rec.Rows {
			if rec.Rows[i].Contender == "codec=base" {
				rec.Rows[i].Module = "example.org/base v2.0.0"
			}
		}
		return rec
	}
	a := added(t, db, upgraded(7), "upgraded")
	if len(a.NewAnchors) != 1 || a.NewAnchors[0].Case != caseName || a.NewAnchors[0].Old.Version != "example.org/base v1.0.0" || a.NewAnchors[0].New.Version != "example.org/base v2.0.0" {
		t.Errorf("%+v", a)
	}
	if a := added(t, db, upgraded(8), "upgraded"); len(a.NewAnchors) > 0 {
		t.Errorf("it is known already: %+v", a)
	}
	// Another baseline: the frozen contender stays the anchor as long as it is measured.
	rebased := upgraded(9)
	for i := range rebased.Rows {
		switch row := &rebased.Rows[i]; row.Contender {
		case "codec=base":
			row.Role = "contender"
		case "codec=c":
			row.Role = "baseline"
		}
	}
	if a := added(t, db, rebased, "rebased"); len(a.NewAnchors) > 0 {
		t.Errorf("%+v", a)
	}
	// An old record that is added late takes its place in time.
	added(t, db, recordOf(rng, 6, -5, nil), "late")

	trends, err := db.Trend(t.Context(), rowA)
	if err != nil || len(trends) != 2 {
		t.Fatal(trends, err)
	}
	here, there := trends[0], trends[1]
	if len(there.Points) != 1 || !strings.Contains(there.Machine, "64 cores") {
		t.Errorf("%+v", there)
	}
	if len(here.Points) != 10 || here.Points[0].Run != "late" || len(here.Segments) != 2 || here.Segments[1].From != 7 {
		t.Errorf("%d points, segments %+v", len(here.Points), here.Segments)
	}
	if r := here.Points[9].Ratio; r == nil || math.Abs(r.Value-0.3) > 0.02 {
		t.Errorf("against the frozen anchor: %v", r)
	}
}

// A run of another seed had other inputs: it does not continue a trend.
func TestOtherInputs(t *testing.T) {
	place := newPlace(t)
	rng := rand.New(rand.NewPCG(7, 1))
	db := opened(t, place)
	added(t, db, recordOf(rng, 6, 0, nil), "run")
	for hour, told := range []func(*record.Record){
		func(rec *record.Record) { rec.Run.Seed = 7 },
		func(rec *record.Record) { rec.Run.GOMAXPROCS = 1 },
	} {
		rec := recordOf(rng, 6, hour+1, nil)
		told(rec)
		want := []string{", seed 7", ", GOMAXPROCS 1"}[hour]
		if a := added(t, db, rec, "run"); len(a.NewAnchors) != 1 || a.NewAnchors[0].New.Version != "example.org/base v1.0.0"+want {
			t.Errorf("%s: %+v", want, a)
		}
	}
	if trends, err := db.Trend(t.Context(), rowA); err != nil || len(trends) != 1 || len(trends[0].Segments) != 3 {
		t.Errorf("%+v, %v", trends, err)
	}
}

// Independent adders, each with its own connection.
func TestConcurrentAdders(t *testing.T) {
	place := newPlace(t)
	const adders, each = 3, 8
	var group sync.WaitGroup
	for i := range adders {
		group.Go(func() {
			// They make the tables at the same time, too.
			db, err := Open(t.Context(), place)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for j := range each {
				a, err := db.Add(t.Context(), recordOf(rng, 4, j, nil), "run")
				if err != nil || a.Outcome != Added {
					t.Error(a, err)
				}
			}
		})
	}
	group.Wait()
	db := opened(t, place)
	entries, err := db.Records(t.Context())
	if err != nil || len(entries) != adders*each {
		t.Fatal(len(entries), err)
	}
	trends, err := db.Trend(t.Context(), rowA)
	if err != nil || len(trends) != 1 || len(trends[0].Points) != adders*each || len(trends[0].Segments) != 1 {
		t.Fatal(trends, err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	place := newPlace(t)
	db := opened(t, place)
	if _, err := db.db.Exec("INSERT INTO postage_schema (version) VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), place)
	if err := says(err, "version 99", "newer Postage"); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "history.db"))
	none := recordOf(rand.New(rand.NewPCG(7, 1)), 0, 0, nil)
	if _, err := db.Add(t.Context(), none, "x"); !errors.Is(err, ErrNoFigures) {
		t.Error(err)
	}
	failed := recordOf(rand.New(rand.NewPCG(7, 1)), 6, 0, nil)
	for i := range failed.Rows {
		failed.Rows[i].Proof = record.ProofFailed + "wrong bytes"
	}
	if _, err := db.Add(t.Context(), failed, "x"); !errors.Is(err, ErrNoFigures) {
		t.Error(err)
	}
	// Rows without proof are left out, the others are stored.
	failed.Rows[0].Proof, failed.Rows[2].Proof = record.ProofOK, record.ProofOK
	if a := added(t, db, failed, "x"); a.Figures != 2 || a.Without != 5 {
		t.Errorf("%+v", a)
	}
}

func TestOpenErrors(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	for place, parts := range map[string][]string{
		text:                        {"notes.txt", "not a database"},
		filepath.Join(text, "x.db"): {"notes.txt", "not a directory"},
	} {
		_, err := Open(t.Context(), place)
		if err := says(err, parts...); err != nil {
			t.Error(err)
		}
	}
	missing := filepath.Join(folder, "missing.db")
	if _, err := OpenExisting(t.Context(), missing); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("it was made")
	}
}

// The old selves of a run against a revision are not kept: they are named after it.
func TestOldSelvesAreNotKept(t *testing.T) {
	place := newPlace(t)
	db := opened(t, place)
	rec := recordOf(rand.New(rand.NewPCG(7, 1)), 10, 1, nil)
	recordtest.Against(rec, 1)
	if a := added(t, db, rec, "a.txt"); a.Figures != 7 {
		t.Errorf("%d figures", a.Figures)
	}
	rows, err := db.Rows(t.Context())
	if err != nil || len(rows) != 7 {
		t.Errorf("%v, %v", rows, err)
	}
}
