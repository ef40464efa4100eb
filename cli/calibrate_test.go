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
	rec.Run.Budget, rec.Run.Patterns = 24*time.Second, []string{"encode"}
	file := filepath.Join(t.TempDir(), "calibration.txt")
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := command("doctor", "--calibrate", "--record", file)
	for _, want := range []string{
		"encode on this machine: 4 of 4 comparisons, 6s each, interval",
		"\n0% slower", " 0% (0–60)", "100% (40–100)",
	} {
		if status != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, %s lacks %q in:\n%s", status, stderr, want, out)
		}
	}
	if status, out, stderr := command("doctor", "--calibrate", "--record", saved(t, t.TempDir(), "run.txt", made.Record())); status != exitUsage || out != "" || !strings.Contains(stderr, "run.txt: holds no comparison of a calibration") {
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
