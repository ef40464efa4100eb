package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// openedTrends is a page with a history in a file, as a browser is given it.
func openedTrends(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, trendPage(t, trendSample()), 0o666); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

// drawnTrends scrolls to each trend and waits until uPlot has drawn it.
const drawnTrends = `(async () => {
	for (const section of document.querySelectorAll("section.trend")) {
		section.scrollIntoView();
		while (!section.querySelector(".uplot canvas")) await new Promise(done => setTimeout(done, 20));
	}
	return document.querySelectorAll("section.trend .uplot").length;
})()`

func TestTrendsInBrowser(t *testing.T) {
	ctx := browser(t)
	page := openedTrends(t)
	var heard complaints
	heard.listen(t, ctx, page)
	do(t, ctx, chromedp.Navigate(page))
	if n := value(t, ctx, chromedp.Evaluate[int](drawnTrends, chromedp.EvalAwaitPromise)); n != 3 {
		t.Errorf("%d of 3 trends are drawn", n)
	}
	if n := value(t, ctx, chromedp.Evaluate[int](`Array.from(document.querySelectorAll("section.trend svg")).filter(s => s.getClientRects().length).length`)); n != 0 {
		t.Errorf("%d plots are there twice", n)
	}
	// Under the pointer: the run, when it was, its commit and its ratio. The last run lies at
	// the right end.
	read := value(t, ctx, chromedp.Evaluate[string](`(async () => {
		const section = document.querySelector("section.trend"), over = section.querySelector(".u-over"), box = over.getBoundingClientRect();
		over.dispatchEvent(new MouseEvent("mousemove", {clientX: box.right - 8, clientY: box.top + 40, bubbles: true}));
		await new Promise(done => setTimeout(done, 0));
		const readout = section.querySelector(".readout");
		for (let i = 0; i < 500 && !readout.textContent; i++) await new Promise(done => setTimeout(done, 20));
		return readout.textContent;
	})()`, chromedp.EvalAwaitPromise))
	if !strings.HasPrefix(read, "run 40, 2026-01-02 15:00, commit 0027567890: 0.2") || !strings.HasSuffix(read, "run-40.txt") {
		t.Errorf("the readout says %q", read)
	}
	// Something is painted, a change's colour included.
	if n := value(t, ctx, chromedp.Evaluate[int](`(() => {
		const canvas = document.querySelector("section.trend canvas"), pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		const colours = new Set();
		for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) colours.add(pixels[i] + "," + pixels[i + 1] + "," + pixels[i + 2]);
		return [getComputedStyle(document.documentElement).getPropertyValue("--slower"), getComputedStyle(document.documentElement).getPropertyValue("--link")]
			.filter(c => { const n = parseInt(c.trim().slice(1), 16); return colours.has((n >> 16) + "," + (n >> 8 & 255) + "," + (n & 255)); }).length;
	})()`)); n != 2 {
		t.Errorf("%d of the colours of a slowdown and of the line are painted", n)
	}
	for _, scheme := range []string{"light", "dark"} {
		accessible(t, ctx, scheme)
	}
	picture := value(t, ctx, chromedp.Screenshot(chromedp.CSS("section.trend")))
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "trend.png"), picture, 0o666); err != nil {
		t.Error(err)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, complaint := range heard.list {
		t.Error(complaint)
	}
}

// Without scripts the plots are those that Go made, and the tables are beneath them.
func TestTrendsWithoutScripts(t *testing.T) {
	ctx := browser(t)
	do(t, ctx, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(openedTrends(t)))
	text := value(t, ctx, chromedp.Evaluate[string](`document.body.innerText + Array.from(document.querySelectorAll("section.trend details")).map(d => d.textContent).join(" ")`))
	for _, want := range []string{"History", "codec=slower", "9.8% slower", "run-40.txt", "example.org/base v2.0.0", "no change"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if n := value(t, ctx, chromedp.Evaluate[int](`Array.from(document.querySelectorAll("section.trend svg")).filter(s => s.getClientRects().length).length`)); n != 3 {
		t.Errorf("%d plots", n)
	}
	picture := value(t, ctx, chromedp.Screenshot(chromedp.CSS("section.trend")))
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "trend-svg.png"), picture, 0o666); err != nil {
		t.Error(err)
	}
}
