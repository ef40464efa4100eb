package history

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"postage/internal/kit/report"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
)

const trendMachine = "linux/amd64, Test, 2 cores, 8 GiB, virtualised: kvm"

// trendOf is a seeded trend of runs an hour apart, whose ratio is multiplied by the factors
// from their runs on. The anchor has another version from the run renewed on, if that is not 0.
func trendOf(row string, runs, renewed int, factors map[int]float64) *Trend {
	rng := rand.New(rand.NewPCG(7, uint64(len(row))))
	ratio := 0.3
	var points []Point
	for i := range runs {
		if f := factors[i]; f != 0 {
			ratio *= f
		}
		v := ratio * math.Exp(0.01*rng.NormFloat64())
		two, bytes := int64(2), int64(1024)
		p := Point{Run: fmt.Sprintf("run-%d.txt", i+1), Started: time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC), Commit: fmt.Sprintf("%04x5678901234567890", i),
			Go: "go1.26.0", Module: "example.org/a v1.2.3", Blocks: 8, Partial: i == 3, Anchor: Anchor{Contender: "codec=base", Version: "example.org/base v1.0.0"},
			Ratio: &verdict.Interval{Value: v, Low: v * 0.98, High: v * 1.02}, NSOp: verdict.Interval{Value: 1000 * v, Low: 980 * v, High: 1020 * v}, AllocsOp: &two, BytesOp: &bytes, Metrics: map[string]float64{"encoded-bytes": 377}}
		if i == 5 { // too few blocks for intervals
			p.Ratio.Low, p.Ratio.High, p.NSOp.Low, p.NSOp.High = 0, math.Inf(1), math.Inf(-1), math.Inf(1)
		}
		if i >= 30 {
			p.Module, p.Go = "example.org/a v1.3.0", "go1.26.1"
		}
		if renewed > 0 && i >= renewed {
			p.Anchor.Version = "example.org/base v2.0.0"
		}
		points = append(points, p)
	}
	return NewTrend(row, trendMachine, points)
}

func trendSample() []*Trend {
	return []*Trend{
		trendOf("Encode/msg=order/op=encode/codec=steady", 24, 0, nil),
		trendOf("Encode/msg=order/op=encode/codec=slower", 40, 0, map[int]float64{12: 1.1, 30: 0.8}),
		trendOf("Encode/msg=order/op=encode/codec=renewed", 30, 15, map[int]float64{15: 0.5}),
	}
}

func TestTrendTerminal(t *testing.T) {
	var b bytes.Buffer
	anchor := trendOf("Encode/msg=order/op=encode/codec=base", 2, 0, nil)
	for i := range anchor.Points {
		anchor.Points[i].Ratio = nil
	}
	for _, trends := range [][]*Trend{trendSample()[:1], trendSample()[1:2], trendSample()[2:], {anchor, {Row: "none"}}} {
		if err := PrintTrends(&b, "", trends, report.Form{}); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	reporttest.Golden(t, "trend.txt", b.Bytes())
}

func TestTrendJSON(t *testing.T) {
	var b bytes.Buffer
	if err := PrintTrends(&b, "Encode/msg=order/op=encode/codec=slower", []*Trend{trendOf("Encode/msg=order/op=encode/codec=slower", 12, 0, map[int]float64{6: 1.5})}, report.Form{JSON: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "trend.json", b.Bytes())
}

// trendPage is a page with the section alone.
func trendPage(t *testing.T, trends []*Trend) []byte {
	t.Helper()
	sections, err := Section(trends)
	if err != nil {
		t.Fatal(err)
	}
	p := report.Page{Title: "trends", Command: "show", Body: "<main><h1>Trends</h1>"}
	for _, s := range sections {
		p.Style, p.Body = s.Style, p.Body+s.Body
	}
	p.Body += "</main>"
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTrendSection(t *testing.T) {
	page := trendPage(t, trendSample())
	section := page[bytes.Index(page, []byte("<main>")):]
	reporttest.Golden(t, "trend.html", section)
	if bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("the template rejected a value")
	}
	if m := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:)?//`).Find(page); m != nil {
		t.Errorf("it loads something: %s", m)
	}
	// The row that changed comes first.
	if first := bytes.Index(section, []byte("codec=slower")); first < 0 || first > bytes.Index(section, []byte("codec=steady")) {
		t.Error("the row that changed is not first")
	}
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" {
				if ids[a.Val] {
					t.Errorf("id %s is there twice", a.Val)
				}
				ids[a.Val] = true
			}
		}
	}
}

// Without a trend there is no section, nor without ratios among the points that are shown.
func TestNoTrends(t *testing.T) {
	late := trendOf("Encode/msg=order/op=encode/codec=late", 60, 0, nil)
	for i := 30; i < 60; i++ {
		late.Points[i].Ratio = nil
	}
	for _, trends := range [][]*Trend{nil, {trendOf("Encode/one", 1, 0, nil)}, {{Row: "none"}}, {late}} {
		if page := trendPage(t, trends); bytes.Contains(page, []byte(`id="history"`)) {
			t.Errorf("a section of nothing, for %d trends", len(trends))
		}
	}
}

// However large the history, the section stays small and says what it leaves out.
func TestTrendSectionSize(t *testing.T) {
	empty := len(trendPage(t, nil))
	for _, size := range []struct{ rows, runs int }{{1, 10_000}, {100, 1000}, {400, 50}} {
		var trends []*Trend
		for i := range size.rows {
			trends = append(trends, trendOf(fmt.Sprintf("Encode/msg=order/op=encode/codec=c%d", i), size.runs, 0, map[int]float64{size.runs / 2: 1.2}))
		}
		page := trendPage(t, trends)
		t.Logf("%d rows of %d runs: %d bytes more", size.rows, size.runs, len(page)-empty)
		if len(page)-empty > 420_000 {
			t.Errorf("%d rows of %d runs: %d bytes more", size.rows, size.runs, len(page)-empty)
		}
		if left := strings.Contains(string(page), fmt.Sprintf("%d more rows have a trend", size.rows-trendsShown)); left != (size.rows > trendsShown) {
			t.Errorf("%d rows: what is left out is said: %v", size.rows, left)
		}
	}
}
