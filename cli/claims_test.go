package cli

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
)

// All 15 claims are printed, whatever was measured.
func TestClaimsPrintsAll(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	a := saved(t, folder, "a.txt", r.Record())
	for _, args := range [][]string{{"claims", "--json"}, {"claims", a, "--json"}} {
		code, stdout, stderr := command(args...)
		var out struct {
			Claims []struct{ Verdict string }
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || len(out.Claims) != 15 {
			t.Errorf("%v: exit %d, %d claims, %v: %s", args, code, len(out.Claims), err, stderr)
		}
		for i, c := range out.Claims {
			if c.Verdict != "not measured" && c.Verdict != "not available" {
				t.Errorf("nothing was measured of claim %d: %s", i+1, c.Verdict)
			}
		}
	}
	if code, stdout, stderr := command("claims"); code != 0 || !strings.Contains(stdout, "15. a fresh TLS") || !strings.Contains(stderr, "--measure") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{{"claims", "nowhere"}, {"claims", a, "--measure"}, {"claims", "--measure", "--budget", "0s"}} {
		if code, stdout, stderr := command(args...); code != 2 || stdout != "" || stderr == "" {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
}
