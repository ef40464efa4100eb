package report

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// machines are three records with one of everything: ratios that agree, differ and are opposed, a
// row that failed on one machine, and too few blocks on another.
func machines() *verdict.Machines {
	const prefix = "Encode/msg=0/op=encode/"
	var records []*record.Record
	for seed, factors := range []map[string]float64{nil, {prefix + "codec=b": 1.4, prefix + "codec=c": 0.3}, nil} {
		run := &recordtest.Run{Rand: rand.New(rand.NewPCG(8, uint64(seed))), Cases: 2, Blocks: 10, Slower: factors}
		rec := run.Record()
		rec.Machine.CPU = []string{"Test <1>", "Test 2", "Test 3"}[seed]
		records = append(records, rec)
	}
	for i := range records[1].Rows {
		if r := &records[1].Rows[i]; r.Name == prefix+"codec=d" {
			r.Proof = record.ProofFailed.Because("it decodes nothing")
		}
	}
	few := records[2]
	few.Blocks = few.Blocks[:2] // of the first case
	few.Run.Seed = 2
	return verdict.CompareMachines([]string{"m7i.large", "m7g.large", "few"}, records)
}

func TestMachines(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"machines.txt":      func(b *bytes.Buffer) error { return Machines(b, machines(), Form{}) },
		"machines-wide.txt": func(b *bytes.Buffer) error { return Machines(b, machines(), Form{Wide: true}) },
		"machines.md":       func(b *bytes.Buffer) error { return Machines(b, machines(), Form{Markdown: true}) },
		"machines.json":     func(b *bytes.Buffer) error { return Machines(b, machines(), Form{JSON: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
			if strings.HasSuffix(name, ".md") {
				wellFormed(t, b.String())
			}
		})
	}
}
