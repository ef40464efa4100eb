package report

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core, the accessibility checker (MPL-2.0, from npm), for this test only.
//
//go:embed testdata/axe.min.js
var axe string

// browser starts a headless Chromium that the test owns.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no chromium: apt-get install chromium")
		}
		t.Skip("no chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1200, 900))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancelAllocator)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	t.Cleanup(cancelBrowser)
	do(t, ctx)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// value runs an action that returns something.
func value[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// command is an action that sends a protocol command.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// complaints collects what a page says on its console and asks of the network.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) listen(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	err := chromedp.Listen(ctx, func(event any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			c.list = append(c.list, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			c.list = append(c.list, fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded:
			c.list = append(c.list, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
		case *network.EventRequestWillBeSent:
			if e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "data:") {
				c.list = append(c.list, "request for "+e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, command(log.Enable, cdp.Empty{}), command(network.Enable, network.EnableParams{}), command(runtime.Enable, cdp.Empty{}))
}

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
	ctx := browser(t)
	page := opened(t, pageSample())
	var heard complaints
	heard.listen(t, ctx, page)
	do(t, ctx, chromedp.Navigate(page))
	const (
		visible = `Array.from(document.querySelectorAll("section.case tbody tr")).filter(r => r.getClientRects().length).length`
		order   = `Array.from(document.querySelector("section.case table").tBodies[0].rows).map(r => r.cells[0].textContent).join(" ")`
		second  = chromedp.CSS("section.case thead th:nth-child(2)")
		button  = chromedp.CSS("section.case thead th:nth-child(2) button")
		filter  = chromedp.CSS("#filter")
	)
	number := func(expression string) int { return value(t, ctx, chromedp.Evaluate[int](expression)) }
	text := func(expression string) string { return value(t, ctx, chromedp.Evaluate[string](expression)) }

	if n := number(visible); n != 7 {
		t.Errorf("%d rows", n)
	}
	do(t, ctx, chromedp.SendKeys(filter, "op=decode codec=polyglot"))
	if shown, hidden, count := number(visible), number(`document.querySelectorAll("section.case[hidden]").length`), text(`document.getElementById("count").textContent`); shown != 1 || hidden != 2 || count != "1 of 7 rows" {
		t.Errorf("filtered: %d rows, %d cases hidden, %q", shown, hidden, count)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("filter").value = ""; document.getElementById("filter").dispatchEvent(new Event("input"))`))
	if n := number(visible); n != 7 {
		t.Errorf("%d rows after the filter was emptied", n)
	}
	do(t, ctx, chromedp.Click(button))
	if got, want := text(order), "floor=memcpy codec=polyglot codec=protobuf codec=twin codec=json/reuse=no"; got != want {
		t.Errorf("sorted by time: %s", got)
	}
	do(t, ctx, chromedp.Click(button))
	if got, want := text(order), "codec=json/reuse=no codec=twin codec=protobuf codec=polyglot floor=memcpy"; got != want {
		t.Errorf("sorted back: %s", got)
	}
	if sorted := value(t, ctx, chromedp.AttributeValue(second, "aria-sort")); sorted.Value != "descending" {
		t.Errorf("the column says it is sorted %q", sorted.Value)
	}
	pictures(t, ctx)
	accessible(t, ctx, "light")
	accessible(t, ctx, "dark")
	// The page is as wide as a phone, and no wider.
	do(t, ctx, chromedp.EmulateViewport(390, 844))
	if width := number("document.documentElement.scrollWidth"); width > 390 {
		t.Errorf("on a phone it is %d wide", width)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, complaint := range heard.list {
		t.Error(complaint)
	}
}

// pictures keeps a screenshot of each kind of section and of the whole page.
func pictures(t *testing.T, ctx context.Context) {
	t.Helper()
	pictures := map[string][]byte{"page.jpg": value(t, ctx, chromedp.FullScreenshot(90))}
	for name, selector := range map[string]chromedp.CSS{"answers.png": "ul.answers", "maps.png": ".maps", "case.png": "section.case"} {
		if value(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q) !== null", selector))) {
			pictures[name] = value(t, ctx, chromedp.Screenshot(selector))
		}
	}
	for name, picture := range pictures {
		if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), picture, 0o666); err != nil {
			t.Error(err)
		}
	}
}

// accessible runs axe-core, which may find nothing serious.
func accessible(t *testing.T, ctx context.Context, scheme string) {
	t.Helper()
	do(t, ctx,
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.Evaluate[chromedp.Void](axe+";undefined"))
	found := value(t, ctx, chromedp.Evaluate[string](`axe.run().then(r => JSON.stringify(r.violations.map(v =>
		({id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary)}))))`, chromedp.EvalAwaitPromise))
	var violations []struct {
		ID, Impact string
		Nodes      []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		if v.Impact == "serious" || v.Impact == "critical" {
			t.Errorf("%s: %s (%s): %q", scheme, v.ID, v.Impact, v.Nodes)
		} else {
			t.Logf("%s: %s (%s): %q", scheme, v.ID, v.Impact, v.Nodes)
		}
	}
}

// Without scripts the page is complete: every figure of its tables is there, and what
// only works with scripts is not shown.
func TestPageWithoutScripts(t *testing.T) {
	ctx := browser(t)
	do(t, ctx, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Navigate(opened(t, pageSample())))
	text := value(t, ctx, chromedp.Evaluate[string]("document.body.innerText"))
	for _, want := range []string{"codec=polyglot", "0.298 (0.297 to 0.299)", "a warning of the run", "not possible: it has no maps"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.Contains(text, "Show rows with") {
		t.Error("a filter that does nothing is shown")
	}
}
