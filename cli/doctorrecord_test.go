package cli

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"postage/record/recordtest"
)

// --record compares what each value of a block finds in the same batches. Here these are simulated
// noise, in which the fast batches say as much as all of them.
func TestBlockValues(t *testing.T) {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 4, Blocks: 10}
	rec := made.Record()
	rec.Run.Precision = calibrationPrecision
	file := filepath.Join(t.TempDir(), "calibration.txt")
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := blockValues(&out, file); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.Contains(out.String(), "fast-cpu (speaks)") || !strings.Contains(lines[5], "of the slowdown that the median of paired wall times needs, on the same records") {
		t.Errorf("%s", out.String())
	}
	// Of no comparison there is nothing to say.
	rec.Blocks = nil
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	if err := blockValues(&out, file); err == nil || !strings.Contains(err.Error(), "holds no comparison") {
		t.Errorf("%v", err)
	}
}
