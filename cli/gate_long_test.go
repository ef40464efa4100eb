package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postage/record"
	"postage/verdict"
)

// What lab's TestSameCodeNeverRegresses and TestSlowdownRegresses show with noise that is
// drawn, with the noise of this machine: real runs of this code, and of a commit in which
// one contender does 10% more. All pairs are compared, and gated where that matters. Takes
// half an hour, so only if POSTAGE_LONG is set; its figures for one machine are in
// docs/method.md. Nothing else may be running. POSTAGE_LONG may be a folder: the runs are kept there.
func TestGateOnRealRuns(t *testing.T) {
	kept := os.Getenv("POSTAGE_LONG")
	if kept == "" {
		t.Skip("measures for half an hour: set POSTAGE_LONG=1, and -timeout 90m")
	}
	const (
		each    = 15 // 105 pairs of the same code, 225 of the slowed one with it
		slowed  = "Encode/msg=order/op=encode/codec=msgp"
		pattern = "Encode/msg=order/op=encode/codec=json,msgp,cbor,vtprotobuf"
	)
	folder := t.TempDir()
	if !filepath.IsAbs(kept) {
		kept = folder
	}
	source := filepath.Join(folder, "source")
	do := func(directory, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = directory
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	do(".", "git", "clone", "-q", "--shared", repository, source)
	programs := map[string]string{"same": filepath.Join(folder, "same"), "slow": filepath.Join(folder, "slow")}
	do(source, "go", "build", "-buildvcs=true", "-o", programs["same"], "./cmd/postage")
	file := filepath.Join(source, "stage/encode/msgp.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Its encoding loop is the first. It allocates nothing, so that its time alone tells.
	if !bytes.Contains(text, []byte("for range n {")) {
		t.Fatal("msgp.go has no loop to slow down")
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("for range n {"), []byte("for range n + n/10 {"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	do(source, "git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-a", "-m", "slower")
	do(source, "go", "build", "-buildvcs=true", "-o", programs["slow"], "./cmd/postage")

	name := func(code string, i int) string { return filepath.Join(kept, fmt.Sprintf("%s%d.txt", code, i)) }
	records := map[string][]*record.Record{}
	for i := range each {
		for _, code := range []string{"same", "slow"} {
			do(source, programs[code], "run", pattern, "--budget", "36s", "--precision", "1%", "--out", name(code, i))
			rec, err := record.Load(name(code, i))
			if err != nil {
				t.Fatal(err)
			}
			records[code] = append(records[code], rec)
		}
	}
	// gated is what the command makes of a pair, with blocks that it measures to confirm.
	gated := func(code string, i, j int) (exit int, stdout string) {
		cmd := exec.Command(programs[code], "gate", name("same", i), name(code, j))
		cmd.Dir = source
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		t.Logf("gate same%d %s%d: exit %d\n%s", i, code, j, cmd.ProcessState.ExitCode(), out.String())
		if cmd.ProcessState.ExitCode() == 2 {
			t.Errorf("no answer: %s", errs.String())
		}
		return cmd.ProcessState.ExitCode(), out.String()
	}

	pairs, outcomes, alarms := 0, map[verdict.Outcome]int{}, 0
	for i, old := range records["same"] {
		for j := i + 1; j < each; j++ {
			pairs++
			outcome := verdict.CompareRecords(old, records["same"][j], verdict.DefaultThresholds()).Outcome()
			outcomes[outcome]++
			if outcome == verdict.Regressed {
				if exit, _ := gated("same", i, j); exit == 1 {
					alarms++
				}
			}
		}
	}
	t.Logf("the same code, %d pairs: %v; regressed after confirmation: %d", pairs, outcomes, alarms)
	if alarms > 0 {
		t.Errorf("the same code regressed in %d pairs", alarms)
	}

	pairs, found, others, confirmed, tried := 0, 0, 0, 0, 0
	for i, old := range records["same"] {
		for j, now := range records["slow"] {
			pairs++
			hit, other := false, false
			for _, row := range verdict.CompareRecords(old, now, verdict.DefaultThresholds()).Rows {
				hit = hit || row.Outcome == verdict.Regressed && row.New.Row.Name == slowed
				other = other || row.Outcome == verdict.Regressed && row.New.Row.Name != slowed
			}
			if hit {
				found++
			}
			// All in which another row regressed, and some in which none did.
			if !other && !(hit && i == j && i%3 == 0) {
				continue
			}
			tried++
			exit, out := gated("slow", i, j)
			if exit == 1 && strings.Contains(out, "1 regressed") && strings.Contains(out, "codec=msgp") {
				confirmed++
			} else if exit == 1 {
				others++
			}
		}
	}
	t.Logf("one contender slowed by 10%%, %d pairs: found in %d before confirmation; confirmed, and no other row, in %d of %d tried, with another row in %d",
		pairs, found, confirmed, tried, others)
	if found < pairs*9/10 || confirmed < tried*9/10 || others > 0 {
		t.Errorf("the slowdown was found in %d of %d, confirmed in %d of %d, with another row in %d", found, pairs, confirmed, tried, others)
	}
}
