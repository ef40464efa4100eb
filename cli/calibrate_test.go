package cli

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/record"
	"postage/record/recordtest"
)

// --record compares what each value of a block finds in the same batches. Here these are simulated
// noise, in which the fast batches say as much as all of them.
func TestCalibrationOfARecord(t *testing.T) {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 4, Blocks: 10}
	rec := made.Record()
	rec.Run.Precision = calibrationPrecision
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueHalfCPU
	}
	rec.Run.Budget, rec.Run.Patterns = 24*time.Second, []string{calibrationPattern + "encode"}
	file := filepath.Join(t.TempDir(), "calibration.txt")
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := command("doctor", "--calibrate", "--record", file)
	for _, want := range []string{
		"comparisons                      4 of 4, 10 blocks each (median)",
		"their interval contains 1        ", "equal code fails it                0.0%  (95% interval 0.0% to 97.5%, 0 of 1)", "median of paired wall times                    4 ", "half-cpu (in use)                              4 ",
		"encode on this machine, 6s a comparison: ", "| encode | 6s, 10 blocks | ±",
	} {
		if status != exitOK || !strings.Contains(out, want) {
			t.Errorf("status %d, %s lacks %q in:\n%s", status, stderr, want, out)
		}
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
