package cli

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"postage/internal/test/recordtest"
	"postage/record"
)

// started is a run in a process of its own that has finished its first block.
type started struct {
	cmd            *exec.Cmd
	record         string
	stdout, stderr bytes.Buffer
}

func start(t *testing.T) *started {
	t.Helper()
	s := &started{record: filepath.Join(t.TempDir(), "r.txt")}
	s.cmd = exec.Command(built(t), "run", "Encode/msg=tiny/op=encode/codec=msgp", "--budget", "2m", "--precision", "0.001%", "--out", s.record)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	for range 2400 {
		if rec, err := record.Load(s.record); err == nil && len(rec.Blocks) > 0 {
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no block after 2 minutes: %s", s.stderr.String())
	return nil
}

// workers are the processes whose parent is or was the process pid.
func workers(t *testing.T, pid int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		// pid (name) state ppid …
		_, after, ok := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(pid) || fields[0] == "Z" {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, child)
	}
	return found
}

// ended waits until all of the processes have ended.
func ended(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for i := 0; ; i++ {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil || strings.Contains(string(text), ") Z ") {
				break
			}
			if i == 200 {
				t.Fatalf("worker %d still runs: %s", pid, text)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := start(t)
	children := workers(t, s.cmd.Process.Pid)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v, want exit status 130", err)
	}
	ended(t, children)
	rec, err := record.Load(s.record)
	if err != nil || len(rec.Blocks) == 0 || rec.Run.Complete {
		t.Fatalf("the record: %v", err)
	}
	if out := s.stdout.String(); !strings.Contains(out, "\nmsgp ") || !strings.Contains(out, "partial:") {
		t.Errorf("the figures measured so far are not printed:\n%s", out)
	}
	if !strings.Contains(s.stderr.String(), "postage run --resume "+s.record) {
		t.Errorf("does not say how to resume: %s", s.stderr.String())
	}
}

// What cannot be saved after an interruption is said.
func TestInterruptedAndNotSaved(t *testing.T) {
	t.Parallel()
	s := start(t)
	folder := filepath.Dir(s.record)
	err := os.ErrExist
	for range 100 { // a file takes the folder's place, unless a save makes that anew in between
		if err = os.RemoveAll(folder); err == nil {
			err = os.WriteFile(folder, nil, 0o600)
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v, want exit status 130", err)
	}
	if said := s.stderr.String(); !strings.Contains(said, "not a directory") || strings.Count(said, "interrupted") != 1 {
		t.Errorf("says %s", said)
	}
}

func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	s := start(t)
	children := workers(t, s.cmd.Process.Pid)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	ended(t, children)
	before, err := record.Load(s.record)
	if err != nil {
		t.Fatalf("the record of a killed run: %v", err)
	}
	// On a busy machine 3 s may be too short for a block, however often.
	after := before
	for seconds := 3; seconds < 30 && len(after.Blocks) <= len(before.Blocks); seconds += 3 {
		var stderr bytes.Buffer
		resume := exec.Command(s.cmd.Path, "run", "--resume", s.record, "--budget", fmt.Sprintf("%ds", seconds))
		resume.Stderr = &stderr
		if err := resume.Run(); err != nil {
			t.Fatalf("resume: %v\n%s", err, stderr.String())
		}
		if after, err = record.Load(s.record); err != nil || !after.Run.Complete {
			t.Fatalf("resumed from %d blocks: complete %v, %v", len(before.Blocks), after != nil && after.Run.Complete, err)
		}
	}
	if len(after.Blocks) <= len(before.Blocks) {
		t.Fatalf("resumed from %d blocks: %d blocks", len(before.Blocks), len(after.Blocks))
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(s.record), "*"))
	if len(files) != 1 {
		t.Errorf("files are left behind: %v", files)
	}
}

// A run in which a row failed its proof exits with 1, also when it is shown again.
func TestExitStatusOfAFailedRow(t *testing.T) {
	made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 6}
	rec := made.Record()
	file := saved(t, t.TempDir(), "r.txt", rec)
	if code, _, stderr := command("show", file); code != exitOK {
		t.Errorf("a sound record: exit status %d, %s", code, stderr)
	}
	rec.Rows[len(rec.Rows)-1].Proof = record.ProofFailed + "decoded 7, want 8"
	if err := rec.Save(file); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := command("show", file); code != exitFailedRow || !strings.Contains(stdout, "decoded 7, want 8") {
		t.Errorf("a failed row: exit status %d\n%s", code, stdout)
	}
}
