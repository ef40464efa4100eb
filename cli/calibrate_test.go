package cli

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/test/recordtest"
	"postage/lab"
	"postage/record"
)

// --record prints what the calibration in a record found. Here its batches are simulated noise.
func TestCalibrationOfARecord(t *testing.T) {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 4, Blocks: 10}
	rec := made.Record()
	rec.Run.Precision = calibrationPrecision
	for i := range rec.Rows {
		rec.Rows[i].Value, rec.Rows[i].Stage = record.ValueCost, calibrationStage
	}
	rec.Run.Budget, rec.Run.Patterns = 24*time.Second, []string{calibrationPattern + "encode"}
	file := filepath.Join(t.TempDir(), "calibration.txt")
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := command("doctor", "--calibrate", "--record", file)
	for _, want := range []string{
		"comparisons                      4 of 4, 10 blocks each (median)",
		"their interval contains 1        ", "equal code fails it                0.0%  (95% interval 0.0% to 97.5%, 0 of 1)",
		"encode on this machine, 6s a comparison: ",
	} {
		if status != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, %s lacks %q in:\n%s", status, stderr, want, out)
		}
	}
	if status, out, stderr := command("doctor", "--calibrate", "--record", saved(t, t.TempDir(), "run.txt", made.Record())); status != exitUsage || out != "" || !strings.Contains(stderr, "run.txt is not a record of a calibration") {
		t.Errorf("of a run: %d: %s%s", status, out, stderr)
	}
	// Of no comparison there is nothing to say.
	rec.Blocks = nil
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := command("doctor", "--calibrate", "--record", file); status != exitUsage || !strings.Contains(stderr, "holds no comparison") {
		t.Errorf("%d: %s", status, stderr)
	}
}

// The line names the smallest slowdown that is found, with all larger ones, in 95% of comparisons;
// without one, what the intervals would find.
func TestCalibrationLine(t *testing.T) {
	rec := &record.Record{Run: record.Run{Precision: calibrationPrecision, Budget: 12 * time.Second}, Rows: []record.Row{{Case: "one"}}}
	found := func(share ...float64) (s []slowdownForm) {
		for i, by := range injectedSlowdowns {
			s = append(s, slowdownForm{By: by, Found: rateForm{Count: int(100 * share[i]), Of: 100, Value: share[i]}})
		}
		return s
	}
	three, one := 0.03, 0.01
	for _, tt := range []struct {
		needed   float64
		smallest *float64
		share    []float64
		want     string
	}{
		{0.024, &three, []float64{0.1, 0.8, 0.96, 1}, "12s a comparison: a slowdown of 3% is found in 96% of comparisons (96 found); equal things"},
		{0.10, nil, []float64{0, 0, 0, 0.1}, "12s a comparison: a slowdown of 10% is found in 95% of comparisons; equal things"},
		{0.008, &one, []float64{1, 1, 1, 1}, "a slowdown of 1% is found in 100% of comparisons (100 found); equal"},
	} {
		r := &calibrationForm{Stage: "seal", Comparisons: 400, Needed: tt.needed, Smallest: tt.smallest, Slowdowns: found(tt.share...)}
		if got := calibrationLine(rec, r); !strings.Contains(got, tt.want) {
			t.Errorf("%q lacks %q", got, tt.want)
		}
	}
}

// A calibration is of what needs no server, if there is such a stage: a server's part differs more
// than the machine's.
func TestCalibratesWhatNeedsNoServer(t *testing.T) {
	baseline := []lab.Contender{{Name: "by=it"}}
	served := lab.Suite{Stage: "served", Cases: []lab.Case{{Name: "Served/peer=sink", Headline: true, Value: record.ValueWall, Baseline: "by=it", Contenders: baseline}, {Name: "Served/op=a", Headline: true, Baseline: "by=it", Service: &lab.Service{}, Contenders: baseline}}}
	alone := lab.Suite{Stage: "alone", Cases: []lab.Case{{Name: "Alone/op=a", Baseline: "by=it", Contenders: baseline}, {Name: "Alone/op=b", Headline: true, Baseline: "by=it", Contenders: baseline}}}
	for _, tt := range []struct {
		suites      []lab.Suite
		stage, want string
	}{{[]lab.Suite{served, alone}, "", "Alone/op=b"}, {[]lab.Suite{served}, "", "Served/peer=sink"}, {[]lab.Suite{served, alone}, "served", "Served/peer=sink"}} {
		if e := (program{suites: tt.suites}).calibrated(tt.stage); e == nil || e.Case.Name != tt.want {
			t.Errorf("%q: %+v, want %s", tt.stage, e, tt.want)
		}
	}
	if e := (program{suites: []lab.Suite{served}}).calibrated("none"); e != nil {
		t.Errorf("of no stage: %+v", e)
	}
}
