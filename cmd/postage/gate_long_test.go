package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"postage/lab"
	"postage/record"
)

// What lab's TestSameCodeNeverRegresses and TestSlowdownRegresses show with noise that is
// drawn, with the noise of this machine: real runs of this code, and of a copy in which one
// contender does 10% more. All pairs are gated. Takes twenty minutes, so only if
// POSTAGE_LONG is set; its figures for one machine are in docs/method.md.
func TestGateOnRealRuns(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("measures for twenty minutes: set POSTAGE_LONG=1, and -timeout 60m")
	}
	const (
		each    = 15 // 105 pairs of the same code, 225 of the slowed one with it
		slowed  = "Encode/msg=order/op=encode/codec=msgp"
		pattern = "Encode/msg=order/op=encode/codec=json,msgp,cbor,vtprotobuf"
	)
	folder, source := t.TempDir(), t.TempDir()
	if err := copyTree(repository, source); err != nil {
		t.Fatal(err)
	}
	build := func(name string) string {
		program := filepath.Join(folder, name)
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/postage")
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return program
	}
	programs := map[string]string{"same": build("same")}
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
	programs["slow"] = build("slow")

	records := map[string][]*record.Record{}
	for i := range each {
		for _, code := range []string{"same", "slow"} {
			out := filepath.Join(folder, fmt.Sprintf("%s%d.txt", code, i))
			cmd := exec.Command(programs[code], "run", pattern, "--budget", "36s", "--precision", "1%", "--out", out)
			cmd.Dir = folder
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			rec, err := record.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			records[code] = append(records[code], rec)
			t.Logf("%s %d: %d blocks", code, i, len(rec.Blocks))
		}
	}

	pairs, outcomes := 0, map[lab.Outcome]int{}
	for i, old := range records["same"] {
		for _, now := range records["same"][i+1:] {
			c := lab.CompareRecords(old, now, lab.DefaultThresholds())
			pairs++
			outcomes[c.Outcome()]++
			for _, row := range c.Rows {
				if row.Outcome == lab.Regressed {
					t.Errorf("the same code: %s regressed: %+v", row.New.Row.Name, row.Ratio)
				}
			}
		}
	}
	t.Logf("the same code, %d pairs: %v", pairs, outcomes)

	pairs, found, others := 0, 0, 0
	for _, old := range records["same"] {
		for _, now := range records["slow"] {
			pairs++
			for _, row := range lab.CompareRecords(old, now, lab.DefaultThresholds()).Rows {
				switch {
				case row.Outcome != lab.Regressed:
				case row.New.Row.Name == slowed:
					found++
				default:
					others++
					t.Errorf("one contender slowed: %s regressed: %+v", row.New.Row.Name, row.Ratio)
				}
			}
		}
	}
	t.Logf("one contender slowed by 10%%, %d pairs: found in %d, another row regressed in %d", pairs, found, others)
	if found < pairs*9/10 {
		t.Errorf("the slowdown was found in %d of %d", found, pairs)
	}
}
