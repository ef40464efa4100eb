package cli

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/internal/recordtest"
)

// Old names do what the new ones do, and say which those are.
func TestOldNamesWork(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	plain, against := saved(t, folder, "a.txt", run.Record()), saved(t, folder, "b.txt", gated(3, 14, 1.05))
	for _, r := range []struct {
		args, now string
		code      int
		makes     string
	}{
		{"report " + plain, "show --html report.html", 0, "report.html"},
		{"report " + plain + " -o old.html", "show --html report.html", 0, "old.html"},
		{"report " + plain + " --out=out.html", "show --html report.html", 0, "out.html"},
		{"gate " + against + " --junit gate.xml", "compare --gate", 1, "gate.xml"},
	} {
		code, _, stderr := command(strings.Fields(r.args)...)
		if code != r.code || !strings.Contains(stderr, "is `postage "+r.now+"` now") {
			t.Errorf("%s: exit %d: %s", r.args, code, stderr)
		}
		if _, err := os.Stat(filepath.Join(folder, r.makes)); err != nil {
			t.Errorf("%s: %v", r.args, err)
		}
	}
	if code, _, stderr := command("show", plain); code != 0 || strings.Contains(stderr, "now") {
		t.Errorf("a new name: exit %d: %s", code, stderr)
	}
}
