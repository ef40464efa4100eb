package show

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"postage/internal/test/reporttest"
)

// opened is a page of runs in a file, as a browser is given it.
func opened(t *testing.T, runs []NamedRun) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, htmlOf(t, runs), 0o666); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

func TestPageInBrowser(t *testing.T) {
	ctx := reporttest.Browser(t)
	page := opened(t, pageSample())
	var heard reporttest.Complaints
	heard.Listen(t, ctx, page)
	reporttest.Do(t, ctx, chromedp.Navigate(page))
	pictures(t, ctx)
	reporttest.Accessible(t, ctx)
	reporttest.Do(t, ctx, chromedp.EmulateViewport(375, 812))
	if width := reporttest.Number(t, ctx, "document.documentElement.scrollWidth"); width > 375 {
		t.Errorf("on a phone it is %d wide: %s", width, reporttest.Text(t, ctx, `Array.from(document.querySelectorAll("body *")).filter(e => e.getBoundingClientRect().right > 376 && !e.closest(".scroll")).map(e => e.tagName + "." + e.className).slice(0, 5).join(" ")`))
	}
	reporttest.Keep(t, "phone.jpg", reporttest.Value(t, ctx, chromedp.FullScreenshot(80)))
	heard.Tell(t)
}

func TestPageFiltersAndSorts(t *testing.T) {
	ctx := reporttest.Browser(t)
	reporttest.Do(t, ctx, chromedp.Navigate(opened(t, pageSample())))
	const (
		visible = `Array.from(document.querySelectorAll("section.case tbody tr")).filter(r => r.getClientRects().length).length`
		cases   = `Array.from(document.querySelectorAll("section.case")).filter(s => s.getClientRects().length).length`
		count   = `document.getElementById("count").textContent`
		order   = `Array.from(document.querySelector("section.case table").tBodies[0].rows).map(r => r.cells[0].textContent).join(" ")`
		second  = chromedp.CSS("section.case thead th:nth-child(2)")
		button  = chromedp.CSS("section.case thead th:nth-child(2) button")
		filter  = chromedp.CSS("#filter")
	)
	all := reporttest.Number(t, ctx, visible)
	if all < 30 || reporttest.Text(t, ctx, count) != fmt.Sprintf("%d rows", all) {
		t.Errorf("%d rows, and %s", all, reporttest.Text(t, ctx, count))
	}
	reporttest.Do(t, ctx, chromedp.SendKeys(filter, "op=decode codec=polyglot"))
	if rows, shown, says := reporttest.Number(t, ctx, visible), reporttest.Number(t, ctx, cases), reporttest.Text(t, ctx, count); rows != 2 || shown != 2 || says != fmt.Sprintf("2 of %d rows", all) {
		t.Errorf("filtered: %d rows in %d cases, %q", rows, shown, says)
	}
	reporttest.Do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("filter").value = ""; document.getElementById("filter").dispatchEvent(new Event("input"))`))
	if n := reporttest.Number(t, ctx, visible); n != all {
		t.Errorf("%d rows after the filter was emptied, were %d", n, all)
	}
	reporttest.Do(t, ctx, chromedp.Click(button))
	if got, want := reporttest.Text(t, ctx, order), "floor=memcpy codec=polyglot codec=twin codec=protobuf codec=json/reuse=no"; got != want {
		t.Errorf("sorted by time: %s", got)
	}
	reporttest.Do(t, ctx, chromedp.Click(button))
	if got, want := reporttest.Text(t, ctx, order), "codec=json/reuse=no codec=protobuf codec=twin codec=polyglot floor=memcpy"; got != want {
		t.Errorf("sorted back: %s", got)
	}
	if sorted := reporttest.Value(t, ctx, chromedp.AttributeValue(second, "aria-sort")); sorted.Value != "descending" {
		t.Errorf("the column says it is sorted %q", sorted.Value)
	}
}

// In print there are no controls, nothing is cut off at the side, and nothing is dark.
func TestPageInPrint(t *testing.T) {
	ctx := reporttest.Browser(t)
	reporttest.Do(t, ctx, chromedp.Navigate(opened(t, pageSample())), reporttest.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print",
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}), chromedp.EmulateViewport(1000, 700))
	if n := reporttest.Number(t, ctx, `Array.from(document.querySelectorAll("input, select, nav")).filter(e => e.getClientRects().length).length`); n != 0 {
		t.Errorf("%d controls are printed", n)
	}
	if wide := reporttest.Text(t, ctx, `Array.from(document.querySelectorAll("table, svg")).filter(e => e.getBoundingClientRect().right > 1001).map(e => (e.closest("section") || {}).id + ": " + e.getBoundingClientRect().right).join(" ")`); wide != "" {
		t.Errorf("cut off at the side: %s", wide)
	}
	if color := reporttest.Text(t, ctx, `getComputedStyle(document.body).backgroundColor`); color != "rgb(255, 255, 255)" {
		t.Errorf("it is printed on %s", color)
	}
	pdf := reporttest.Value(t, ctx, chromedp.PrintToPDF())
	reporttest.Keep(t, "page.pdf", pdf)
	if !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Error("no PDF")
	}
}

// pictures keeps a screenshot of each section and of the whole page.
func pictures(t *testing.T, ctx context.Context) {
	t.Helper()
	reporttest.Keep(t, "page.jpg", reporttest.Value(t, ctx, chromedp.FullScreenshot(90)))
	ids := reporttest.Value(t, ctx, chromedp.Evaluate[[]string](`Array.from(document.querySelectorAll("main section[id]:not(.case), #case1, #case2")).map(s => s.id)`))
	if len(ids) < 6 {
		t.Errorf("sections: %v", ids)
	}
	for _, id := range ids {
		reporttest.Keep(t, id+".png", reporttest.Value(t, ctx, chromedp.Screenshot(chromedp.CSS("#"+id))))
	}
}

// Without scripts the page is complete: every figure of its tables is there, and what only works
// with scripts is not shown.
func TestPageWithoutScripts(t *testing.T) {
	ctx := reporttest.Browser(t)
	reporttest.Do(t, ctx, reporttest.Command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(opened(t, pageSample())))
	text := reporttest.Text(t, ctx, "document.body.innerText")
	for _, want := range []string{"codec=polyglot", "0.298 (0.297 to 0.299)", "a warning of the run", "not possible: it has no maps"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Contains(text, "Show rows with") {
		t.Error("the filter, which does nothing, is shown")
	}
	if n := reporttest.Number(t, ctx, `Array.from(document.querySelectorAll("input, select")).filter(e => e.getClientRects().length).length`); n != 0 {
		t.Errorf("%d controls that do nothing are shown", n)
	}
}
