package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/test/recordtest"
)

// historyOf saves records in a folder. From one run on, the row codec=a is 15% slower.
func historyOf(t *testing.T, runs, slower int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	rng := rand.New(rand.NewPCG(7, 1))
	for i := range runs {
		r := recordtest.Run{Rand: rng, Cases: 1, Blocks: 8}
		if i >= slower {
			r.Slower = map[string]float64{"Encode/msg=0/op=encode/codec=a": 1.15}
		}
		rec := r.Record()
		rec.Run.Started = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		rec.Run.Commit = fmt.Sprintf("%02dabcdef0123456789", i)
		saved(t, folder, fmt.Sprintf("run%02d.txt", i), rec)
	}
	return folder
}

func TestHistoryShowsWhenARowBecameSlower(t *testing.T) {
	folder := historyOf(t, 16, 9)
	code, stdout, stderr := command("history", folder, "--row", "codec=a")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"16 runs from 2026-01-01 to 2026-01-16", "1 change\n", "10  2026-01-10 00:00  09abcdef01", "% slower", "run09.txt"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code, stdout, _ := command("history", folder, "--row", "codec=b"); code != 0 || !strings.Contains(stdout, "no change\n") {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if code, stdout, stderr := command("history", folder, "--row", "codec=a", "--html", page); code != 0 || stdout != "" || !strings.Contains(stderr, "page saved as "+page) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), `<line class="change"`) {
		t.Errorf("the page does not mark the change: %v", err)
	}
	if code, _, stderr := command("history", folder, "--row", "codec=base"); code != 2 || !strings.Contains(stderr, "codec=base has no history: no other row is its baseline") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Ctrl-C ends the command like any other.
func TestHistoryInterrupted(t *testing.T) {
	folder := historyOf(t, 1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr strings.Builder
	code := postage.run(ctx, []string{"history", folder, "--row", "codec=a"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("exit %d: %s%s", code, stdout.String(), stderr.String())
	}
}
