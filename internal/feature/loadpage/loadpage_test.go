package loadpage

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"postage/internal/test/reporttest"
	"postage/load"
)

func loadSample() Page {
	number := func(f float64) *float64 { return &f }
	p := Page{What: "GET <b>http://localhost:8080/</b> by http1, 10 connections", Started: time.Date(2026, 1, 2, 15, 4, 0, 0, time.UTC), Load: &load.Summary{
		Rate: number(500), Achieved: 499.5, Seconds: 20.1, Requests: 10_000, Failed: 12, Errors: map[string]int64{"status 503": 12}, Statuses: map[string]int64{"200": 9988, "503": 12},
		Busy: number(0.08), Valid: true, Corrected: true, LatencyNS: map[string]*float64{},
	}}
	for i, name := range []string{"p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max"} {
		p.Load.LatencyNS[name] = number(400_000 * math.Pow(2.4, float64(i)))
	}
	for i := range 20 {
		s := Second{From: float64(i), To: float64(i + 1), Done: 500, P50: 400_000, P99: 3e6, Max: 5e6 + float64(i)*1e6}
		if i == 9 {
			s = Second{From: 9, To: 10} // the server stood still
		}
		if i == 10 {
			s.Failed, s.P99, s.Max = 12, 900e6, 990e6
		}
		p.Seconds = append(p.Seconds, s)
	}
	for i := range 81 {
		p.Distribution = append(p.Distribution, Quantile{100 * (1 - math.Pow(10, -float64(i)/20)), 300_000 * math.Pow(1.06, float64(i))})
	}
	return p
}

func loadPage(t *testing.T, p Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLoadHTML(t *testing.T) {
	page := loadPage(t, loadSample())
	reporttest.Golden(t, "load.html", page)
	if bytes.Contains(page, []byte("<b>http")) || bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("text became markup, or the template rejected a value")
	}
	if m := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:)?//`).Find(page); m != nil {
		t.Errorf("it loads something: %s", m)
	}
	// A standstill breaks the line of latencies and not that of the rate.
	for _, c := range []struct{ class, want string }{{"curve c1", "2"}, {"curve c0", "2"}} {
		m := regexp.MustCompile(`<path class="` + c.class + `" d="([^"]*)"`).FindSubmatch(page)
		if m == nil || fmt.Sprint(bytes.Count(m[1], []byte("M"))) != c.want {
			t.Errorf("%s: %s", c.class, m)
		}
	}
}

// Latencies that are not the server's are nowhere on the page.
func TestLoadHTMLInvalid(t *testing.T) {
	p := loadSample()
	why := "the generator was the limit"
	p.Load.Invalid, p.Load.Valid, p.Load.LatencyNS, p.Distribution = &why, false, nil, nil
	page := string(loadPage(t, p))
	if !strings.Contains(page, "not valid: "+why) || strings.Contains(page, "Latency over time") || strings.Contains(page, "p99<") || strings.Contains(page, "ms</td>") {
		t.Error(page)
	}
	if !strings.Contains(page, "Answers and failures a second") {
		t.Error("the rate is not shown")
	}
}

// A day's load makes a page of bounded size that still shows its worst second.
func TestLoadHTMLOfADay(t *testing.T) {
	p := loadSample()
	p.Seconds = nil
	for i := range 86400 {
		s := Second{From: float64(i), To: float64(i + 1), Done: 1, P50: 1e6, P99: 1e6, Max: 1e6}
		if i == 43210 {
			s.Max = 77e9
		}
		p.Seconds = append(p.Seconds, s)
	}
	page := string(loadPage(t, p))
	if len(page) > 200_000 || !strings.Contains(page, "77 s") || !strings.Contains(page, "worst of several seconds") {
		t.Errorf("%d bytes", len(page))
	}
	total := int64(0)
	for _, s := range joined(p.Seconds) {
		total += s.Done
	}
	if total != 86400 {
		t.Errorf("%d answers are left of 86400", total)
	}
}

func TestLoadInBrowser(t *testing.T) {
	ctx := reporttest.Browser(t)
	file := filepath.Join(t.TempDir(), "load.html")
	if err := os.WriteFile(file, loadPage(t, loadSample()), 0o666); err != nil {
		t.Fatal(err)
	}
	var heard reporttest.Complaints
	heard.Listen(t, ctx, "file://"+file)
	reporttest.Do(t, ctx, chromedp.Navigate("file://"+file))
	text := reporttest.Value(t, ctx, chromedp.Evaluate[string]("document.body.innerText"))
	for _, want := range []string{"10,000 requests in 20.1 s, 12 failed", "499.5/s of 500.0/s asked for", "status 503", "Latency over time", "Distribution of latency", "p99.9"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	// All that is drawn lies within its plot, and every curve has a length.
	if wrong := reporttest.Value(t, ctx, chromedp.Evaluate[string](`Array.from(document.querySelectorAll("svg.load text")).filter(c => {
		const b = c.getBoundingClientRect(), v = c.ownerSVGElement.getBoundingClientRect();
		return b.left < v.left || b.right > v.right || b.top < v.top - 1 || b.bottom > v.bottom + 1;
	}).map(c => c.textContent).join("") + Array.from(document.querySelectorAll("svg.load .curve")).map(c => {
		const b = c.getBBox(), v = c.ownerSVGElement.viewBox.baseVal;
		return c.getTotalLength() > 500 && b.x >= 60 && b.y >= 0 && b.x + b.width <= v.width && b.y + b.height <= v.height - 39 ? "" : c.getAttribute("class") + JSON.stringify(b);
	}).join("")`)); wrong != "" {
		t.Errorf("drawn outside, or not: %s", wrong)
	}
	if n := reporttest.Value(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll("svg.load .curve").length`)); n != 6 {
		t.Errorf("%d curves", n)
	}
	reporttest.Accessible(t, ctx)
	picture := reporttest.Value(t, ctx, chromedp.Screenshot(chromedp.CSS("main")))
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "load.png"), picture, 0o666); err != nil {
		t.Error(err)
	}
	heard.Tell(t)
}
