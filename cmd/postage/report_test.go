package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postage/lab/recordtest"
)

func TestReport(t *testing.T) {
	folder := t.TempDir()
	r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}
	a, b := saved(t, folder, "a.txt", r.Record()), saved(t, folder, "b.txt", r.Record())
	out := filepath.Join(folder, "costs.html")
	code, stdout, stderr := command("report", a, b, "-o", out)
	if code != 0 || stdout != "" || !strings.Contains(stderr, "page saved as "+out) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.txt", "b.txt", `id="encode-msg-0-op-encode"`, `id="encode-msg-0-op-encode-2"`, "faster than base"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if code, _, stderr := command("report", filepath.Join(folder, "nowhere.txt"), "-o", out); code != 2 || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if again, err := os.ReadFile(out); err != nil || string(again) != string(page) {
		t.Error("a page that could not be made took the place of one that was")
	}
	if code, _, stderr := command("report", a, "-o", filepath.Join(folder, "no", "x.html")); code != 2 || stderr == "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
