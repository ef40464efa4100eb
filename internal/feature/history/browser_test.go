package history

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"postage/internal/test/reporttest"
)

// The plots are accessible, and nothing is loaded or complained of. Without scripts they are the
// plots that Go made, and the tables are beneath them.
func TestTrendsInBrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	var b bytes.Buffer
	if err := errors.Join(HTML(&b, trendRow, trendSample()), os.WriteFile(file, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	page, ctx := "file://"+file, reporttest.Browser(t)
	var heard reporttest.Complaints
	heard.Listen(t, ctx, page)
	reporttest.Do(t, ctx, chromedp.Navigate(page))
	reporttest.Accessible(t, ctx)
	heard.Tell(t)
	reporttest.Do(t, ctx, reporttest.Command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(page))
	text := reporttest.Value(t, ctx, chromedp.Evaluate[string](`document.body.innerText + Array.from(document.querySelectorAll("section.trend details")).map(d => d.textContent).join(" ")`))
	for _, want := range []string{"codec=slower", "10.1% slower", "run-40.txt", "go1.26.1", "no change"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if n := reporttest.Value(t, ctx, chromedp.Evaluate[int](`Array.from(document.querySelectorAll("section.trend svg")).filter(s => s.getClientRects().length).length`)); n != 3 {
		t.Errorf("%d plots", n)
	}
	picture := reporttest.Value(t, ctx, chromedp.Screenshot(chromedp.CSS("section.trend")))
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "trend-svg.png"), picture, 0o666); err != nil {
		t.Error(err)
	}
}
