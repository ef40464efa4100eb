package history

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"postage/internal/kit/report"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
)

const trendRow = "Encode/msg=order/op=encode/codec=slower"

// trendOf is a seeded trend of runs an hour apart, whose ratio is multiplied by the factors
// from their runs on.
func trendOf(runs int, factors map[int]float64) *Trend {
	rng := rand.New(rand.NewPCG(7, 7))
	ratio := 0.3
	tr := &Trend{Machine: "linux/amd64, Test, 2 cores, 8 GiB, virtualised: kvm", Anchor: Anchor{"codec=base", "example.org/base v1.0.0"}}
	for i := range runs {
		if f := factors[i]; f != 0 {
			ratio *= f
		}
		v := ratio * math.Exp(0.01*rng.NormFloat64())
		p := Point{Run: fmt.Sprintf("run-%d.txt", i+1), Started: new(time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)), Commit: new(fmt.Sprintf("%04x5678901234567890", i)),
			Go: "go1.26.0", Module: "example.org/a v1.2.3", Blocks: 8, Partial: i == 3, AllocsOp: new(int64(2)), BytesOp: new(int64(1024)), Metrics: map[string]float64{"encoded-bytes": 377},
			Ratio: verdict.Interval{Value: v, Low: v * 0.98, High: v * 1.02}, NSOp: verdict.Interval{Value: 1000 * v, Low: 980 * v, High: 1020 * v}}
		if i == 5 { // too few blocks for intervals
			p.Ratio.Low, p.Ratio.High, p.NSOp.Low, p.NSOp.High = 0, math.Inf(1), math.Inf(-1), math.Inf(1)
		}
		if i >= 30 {
			p.Module, p.Go = "example.org/a v1.3.0", "go1.26.1"
		}
		tr.Points = append(tr.Points, p)
	}
	tr.findChanges()
	return tr
}

func trendSample() []*Trend {
	return []*Trend{trendOf(40, map[int]float64{12: 1.1, 30: 0.8}), trendOf(24, nil), trendOf(2, nil)}
}

func TestTrendTerminal(t *testing.T) {
	var b bytes.Buffer
	if err := Print(&b, trendRow, trendSample(), report.Form{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "trend.txt", b.Bytes())
}

func TestTrendMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Print(&b, trendRow, trendSample(), report.Form{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.WellFormed(t, b.String())
}

func TestTrendJSON(t *testing.T) {
	var b bytes.Buffer
	if err := Print(&b, trendRow, []*Trend{trendOf(12, map[int]float64{6: 1.5}), trendOf(1, nil)}, report.Form{JSON: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "trend.json", b.Bytes())
}

func TestTrendPage(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, trendRow, trendSample()); err != nil {
		t.Fatal(err)
	}
	page := b.Bytes()
	reporttest.Golden(t, "trend.html", page[bytes.Index(page, []byte("<header>")):])
	if bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("the template rejected a value")
	}
	if m := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:)?//`).Find(page); m != nil {
		t.Errorf("it loads something: %s", m)
	}
}
