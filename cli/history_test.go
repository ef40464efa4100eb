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

	"postage/internal/recordtest"
)

// historyOf adds runs to a history. From one run on, the row codec=a is 15% slower. It returns the
// history's place and the last run's file.
func historyOf(t *testing.T, runs, slower int) (place, last string) {
	t.Helper()
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 1))
	place = filepath.Join(folder, "history.db")
	args := []string{"history", "add", "--db", place}
	for i := range runs {
		r := recordtest.Run{Rand: rng, Cases: 1, Blocks: 8}
		if i >= slower {
			r.Slower = map[string]float64{"Encode/msg=0/op=encode/codec=a": 1.15}
		}
		rec := r.Record()
		rec.Run.Started = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		rec.Run.Commit = fmt.Sprintf("%02dabcdef0123456789", i)
		last = saved(t, folder, fmt.Sprintf("run%02d.txt", i), rec)
		args = append(args, last)
	}
	code, stdout, stderr := command(args...)
	if code != 0 || strings.Count(stdout, ": added as record ") != runs || stderr != "" {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return place, last
}

func TestHistoryShowsWhenARowBecameSlower(t *testing.T) {
	place, last := historyOf(t, 16, 9)
	code, stdout, stderr := command("history", "show", "codec=a", "--db", place, "--last", "3")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"16 runs from 2026-01-01 to 2026-01-16", "1 change\n", "10  2026-01-10 00:00  09abcdef01", "% slower", "run09.txt", "the last 3 of 16 runs"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if code, stdout, _ := command("history", "show", "codec=b", "--db", place); code != 0 || !strings.Contains(stdout, "no change\n") {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if code, _, stderr := command("show", last, "--html", page, "--db", place); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// Contenders have a trend each; the baseline, its control and the floor have none.
	if n := strings.Count(string(html), `<section class="trend"`); n != 4 {
		t.Errorf("%d trends in the page", n)
	}
	if !strings.Contains(string(html), `<line class="change"`) || len(html) > 1_500_000 {
		t.Errorf("the page of %d bytes does not mark the change", len(html))
	}
	if code, _, stderr := command("show", last, "--html", page, "--db", filepath.Join(t.TempDir(), "none.db")); code != 2 || !strings.Contains(stderr, "there is no history") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// Of a folder all runs are added that can be: one without figures is told, a damaged one is an
// error in the end.
func TestHistoryOfFolder(t *testing.T) {
	folder := t.TempDir()
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 8}
	good, none := made.Record(), made.Record()
	none.Blocks = nil
	saved(t, folder, "a.txt", none)
	saved(t, folder, "c.txt", good)
	add := func() (int, string, string) {
		return command("history", "add", folder, "--db", filepath.Join(t.TempDir(), "history.db"))
	}
	if code, stdout, stderr := add(); code != exitOK || !strings.HasPrefix(stdout, "c.txt: added") || !strings.Contains(stderr, "add a.txt to the history: no row of it has figures") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(folder, "b.txt"), []byte("cut off"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := add(); code != exitUsage || !strings.HasPrefix(stdout, "c.txt: added") || !strings.Contains(stderr, "b.txt:") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// Ctrl-C ends a command of the history like any other.
func TestHistoryInterrupted(t *testing.T) {
	place, last := historyOf(t, 1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"history", "add", last}, {"history", "list"}, {"history", "show", "codec=a"}} {
		var stdout, stderr strings.Builder
		if code := postage.run(ctx, append(args, "--db", place), strings.NewReader(""), &stdout, &stderr); code != exitInterrupted || stdout.Len() > 0 {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout.String(), stderr.String())
		}
	}
}
