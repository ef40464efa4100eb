//go:build unix

package webpush_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"postage/webpush"
)

// TestJournalAfterAShortWrite has the system refuse the second half of a line.
func TestJournalAfterAShortWrite(t *testing.T) {
	subs := strangers(t, 3)
	name := filepath.Join(t.TempDir(), "results.ndjson")
	journal, err := webpush.OpenJournal(name, "short")
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Record(subs[0], webpush.Result{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	limitFileSize(t, info.Size()+10, func() {
		if err := journal.Record(subs[1], webpush.Result{}); err == nil {
			t.Error("a write that failed is no error")
		}
	})
	if err := journal.Record(subs[2], webpush.Result{}); err != nil {
		t.Errorf("with room again: %v", err)
	}
	journal.Close()
	if journal, err = webpush.OpenJournal(name, "short"); err != nil {
		t.Fatal(err)
	}
	if n := journal.Kept()[webpush.Accepted]; n != 2 {
		t.Errorf("%d kept, want 2", n)
	}
	journal.Close()
}

// limitFileSize runs f while no file may grow beyond so many bytes.
func limitFileSize(t *testing.T, sizeBytes int64, f func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(sizeBytes), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) //nolint:errcheck // the test says so otherwise
	f()
}
