package show

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"postage/internal/kit/report"
	"postage/internal/test/reporttest"
	"postage/record"
)

// sample is a record with one of everything that a report must show: a baseline, its
// control, a faster and a slower contender, one that is the same, one that failed its
// proof, one that is not possible, a floor, a case with too few blocks, disturbed
// batches and a warning.
func sample() *record.Record {
	rng := rand.New(rand.NewPCG(7, 7))
	rec := &record.Record{
		Run: record.Run{Version: 1, Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Seed: 7, Precision: 0.01, Budget: time.Minute,
			Rounds: 12, GOMAXPROCS: 2, Elapsed: 61 * time.Second, Complete: true, Warnings: []string{"a warning of the run"}},
		Machine: record.Machine{GOOS: "linux", GOARCH: "amd64", CPU: "Test CPU", Cores: 2, Go: "go1.26.0"},
	}
	add := func(c string, blocks int, specs ...spec) { addCase(rec, rng, c, blocks, specs...) }
	add("Encode/msg=order/op=decode", 10,
		spec{"codec=protobuf", "baseline", "", 1630.5, 43},
		spec{"codec=control", "control", "", 1630.5, 43},
		spec{"codec=polyglot", "contender", "", 486.3, 17},
		spec{"codec=json/reuse=no", "contender", "", 12630, 90},
		spec{"codec=twin", "contender", "", 1632, 43},
		spec{"codec=broken", "contender", "failed: proof: message 3: decoded 7, want 8 (block 1)", 100, 1},
		spec{"codec=absent", "contender", "not possible: it has no maps", 0, 0},
		spec{"floor=memcpy", "floor", "", 9.25, 0})
	add("Encode/msg=blob/op=encode", 2,
		spec{"codec=protobuf", "baseline", "", 4000, 1},
		spec{"codec=control", "control", "", 4000, 1},
		spec{"codec=polyglot", "contender", "", 1.5e6, 0})
	add("Encode/msg=tiny/op=encode", 0,
		spec{"codec=protobuf", "baseline", "not measured: the budget is too small", 0, 0},
		spec{"codec=control", "control", "not measured: the budget is too small", 0, 0})
	return rec
}

// spec is a row of a sample.
type spec struct {
	contender string
	role      record.Role
	proof     record.Proof
	ns        float64
	allocs    int64
}

// addCase adds a case to a record, as if it had been measured.
func addCase(rec *record.Record, rng *rand.Rand, c string, blocks int, specs ...spec) {
	stage, _, _ := strings.Cut(strings.ToLower(c), "/")
	for _, s := range specs {
		if s.proof == "" {
			s.proof = record.ProofOK
		}
		row := record.Row{Name: c + "/" + s.contender, Stage: stage, Case: c, Contender: s.contender, Role: s.role, N: 1000, Proof: s.proof,
			Module: "example.org/m v1.2.3", Settings: map[string]string{"codec": "x"}}
		if s.proof == record.ProofOK {
			row.Metrics = map[string]float64{"encoded-bytes": 377}
		}
		rec.Rows = append(rec.Rows, row)
	}
	for b := range blocks {
		block := record.Block{Case: c, Number: b + 1, Elapsed: time.Second}
		process := 1 + 0.02*rng.NormFloat64()
		for _, s := range specs {
			if s.proof.Is("not") {
				continue
			}
			series := record.Series{Row: c + "/" + s.contender}
			own := process * (1 + 0.004*rng.NormFloat64())
			for round := range 12 {
				ns := int64(1000 * s.ns * own * (1 + 0.003*rng.NormFloat64()))
				series.Position = append(series.Position, round)
				series.WallNS = append(series.WallNS, ns)
				series.CPUNS = append(series.CPUNS, ns+ns/10)
				series.Allocs = append(series.Allocs, 1000*s.allocs)
				series.Bytes = append(series.Bytes, 64_000*s.allocs)
			}
			block.Series = append(block.Series, series)
		}
		rec.Blocks = append(rec.Blocks, block)
	}
}

func TestTerminal(t *testing.T) {
	for _, r := range []struct {
		name  string
		rec   *record.Record
		color bool
	}{{"terminal.txt", sample(), false}, {"terminal-wide.txt", sample(), false}, {"terminal-color.txt", sample(), true}, {"terminal-busy.txt", rough(), false}} {
		var b bytes.Buffer
		if err := Record(&b, r.rec, stages, report.Form{Color: r.color, Wide: strings.Contains(r.name, "wide")}); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, r.name, b.Bytes())
		if !r.color && bytes.ContainsRune(b.Bytes(), '\x1b') {
			t.Error("escape sequences without colour")
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := Record(&b, sample(), stages, report.Form{JSON: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "record.json", b.Bytes())
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Record(&b, sample(), stages, report.Form{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "record.md", b.Bytes())
	reporttest.WellFormed(t, b.String())
}
