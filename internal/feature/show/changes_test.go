package show

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/kit/report"
	"postage/internal/test/recordtest"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
)

// slower are rows whose times change, and more those that allocate more.
var (
	slower = map[string]float64{"Encode/msg=0/op=encode/codec=a": 1.3, "Encode/msg=0/op=encode/codec=b": 0.5, "Encode/msg=1/op=encode/codec=d": 1.025}
	more   = map[string]int64{"Encode/msg=0/op=encode/codec=c": 1}
)

// advice is a comparison of two runs with one of everything.
func advice() *verdict.Changes {
	old := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 2, Blocks: 10}
	now := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, 2)), Cases: 2, Blocks: 10, Slower: slower, Allocs: more}
	return verdict.CompareRecords(old.Record(), now.Record(), verdict.DefaultThresholds())
}

// changes is a run against a revision with one of everything: a row that regressed in time, one in
// allocations, one that is faster, rows that passed, and inconclusive ones; function layouts that
// matter.
func changes() *verdict.Changes {
	rng := rand.New(rand.NewPCG(7, 5))
	run := &recordtest.Run{Rand: rng, Cases: 2, Blocks: 16, Slower: slower, Allocs: more}
	rec := run.Record()
	recordtest.Against(rec, 1)
	recordtest.Laid(rec, rng, 8, 0.008)
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s := &rec.Blocks[i].Series[j]
			now := rec.Row(s.Row).OldOf
			if now == "" {
				continue
			}
			for k := range s.WallNS {
				if f := slower[now]; f != 0 {
					s.WallNS[k] = int64(float64(s.WallNS[k]) / f)
				}
				s.Allocs[k] -= 100 * more[now]
			}
		}
	}
	return verdict.ComparePaired(rec, verdict.DefaultThresholds())
}

func TestChanges(t *testing.T) {
	c, unpaired := changes(), advice()
	for _, r := range []struct {
		file  string
		write func(*bytes.Buffer, *verdict.Changes) error
	}{
		{"changes.txt", func(b *bytes.Buffer, c *verdict.Changes) error { return Changes(b, c, report.Form{}) }},
		{"changes-wide.txt", func(b *bytes.Buffer, c *verdict.Changes) error { return Changes(b, c, report.Form{Wide: true}) }},
		{"changes.md", func(b *bytes.Buffer, c *verdict.Changes) error { return Changes(b, c, report.Form{Markdown: true}) }},
		{"changes.json", func(b *bytes.Buffer, c *verdict.Changes) error { return Changes(b, c, report.Form{JSON: true}) }},
		{"advice.txt", func(b *bytes.Buffer, _ *verdict.Changes) error { return Changes(b, unpaired, report.Form{}) }},
		{"advice.md", func(b *bytes.Buffer, _ *verdict.Changes) error {
			return Changes(b, unpaired, report.Form{Markdown: true})
		}},
		{"advice.json", func(b *bytes.Buffer, _ *verdict.Changes) error { return Changes(b, unpaired, report.Form{JSON: true}) }},
		{"gate.md", func(b *bytes.Buffer, c *verdict.Changes) error { return Gate(b, c, report.Form{Markdown: true}) }},
	} {
		t.Run(r.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := r.write(&b, c); err != nil {
				t.Fatal(err)
			}
			reporttest.Golden(t, r.file, b.Bytes())
			var v any
			switch {
			case strings.HasSuffix(r.file, ".md"):
				reporttest.WellFormed(t, b.String())
			case strings.HasSuffix(r.file, ".json"):
				if err := json.Unmarshal(b.Bytes(), &v); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A comparison of two machines says so in its first line.
func TestAcrossMachines(t *testing.T) {
	c := advice()
	c.New.Machine.Cores = 64
	var text bytes.Buffer
	if err := Changes(&text, verdict.CompareRecords(c.Old, c.New, c.Limits), report.Form{}); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(text.String(), "\n"); !strings.HasSuffix(first, ", across machines") {
		t.Errorf("it begins with %q", first)
	}
}
