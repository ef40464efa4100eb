// Package reporttest has what tests of printed results need: golden files, and a browser.
package reporttest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); `go test -update` in its package writes it anew:\n%s", name, diff)
	}
}

// cellEnd is a "|" that ends a cell, which an escaped one does not.
var cellEnd = regexp.MustCompile(`(^|[^\\])\|`)

// WellFormed says whether a Markdown text has rows of one width in each table, and no HTML.
func WellFormed(t *testing.T, text string) {
	t.Helper()
	if tag := regexp.MustCompile(`(^|[^\\])<[a-z/]`).FindString(text); tag != "" {
		t.Errorf("HTML in Markdown: %q", tag)
	}
	width, head, above := 0, false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if head {
				t.Errorf("a table of a head alone, above %q", line)
			}
			width, head, above = 0, false, line
			continue
		}
		cells := len(cellEnd.FindAllString(line, -1))
		switch {
		case width == 0 && above != "":
			t.Errorf("a table without a blank line above it: %s", line)
		case width == 0:
			width, head = cells, true
		case head:
			if head = false; !regexp.MustCompile(`^(\| (---|---:) )+\|$`).MatchString(line) {
				t.Errorf("no line of dashes below a table's head: %s", line)
			}
		}
		if cells != width {
			t.Errorf("a row of %d cells in a table of %d: %s", cells-1, width-1, line)
		}
	}
}

// axe is npm's axe-core, the accessibility checker. npm keeps it in its own cache.
var axe = sync.OnceValues(func() (script string, err error) {
	const version = "4.14.1"
	folder, err := os.MkdirTemp("", "axe-core-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	pack := exec.Command("npm", "pack", "--loglevel=error", "--prefer-offline", "--fetch-retries=0", "axe-core@"+version)
	pack.Dir = folder
	if out, err := pack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", pack, err, out)
	}
	out, err := exec.Command("tar", "-xzOf", filepath.Join(folder, "axe-core-"+version+".tgz"), "package/axe.min.js").Output()
	return string(out), err
})

// Browser starts a headless Chromium that the test owns.
func Browser(t *testing.T) context.Context {
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
	// The profile's folder is chromedp's own, which goes on removing it while Chrome's
	// children still write there.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(3*time.Minute), chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1200, 900))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancelAllocator)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	t.Cleanup(cancelBrowser)
	Do(t, ctx)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func Do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// Value runs an action that returns something.
func Value[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Command is an action that sends a protocol command.
func Command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// Complaints collects what a page says on its console and asks of the network.
type Complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *Complaints) Listen(t *testing.T, ctx context.Context, page string) {
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
	Do(t, ctx, Command(log.Enable, cdp.Empty{}), Command(network.Enable, network.EnableParams{}), Command(runtime.Enable, cdp.Empty{}))
}

func Number(t *testing.T, ctx context.Context, expression string) int {
	t.Helper()
	return Value(t, ctx, chromedp.Evaluate[int](expression))
}

func Text(t *testing.T, ctx context.Context, expression string) string {
	t.Helper()
	return Value(t, ctx, chromedp.Evaluate[string](expression))
}

func Keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), data, 0o666); err != nil {
		t.Error(err)
	}
}

// Accessible runs axe-core on the open page, light and dark: it may find nothing serious.
func Accessible(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		t.Run("accessible/"+scheme, func(t *testing.T) {
			script, err := axe()
			if err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("no axe-core from npm: %v", err)
				}
				t.Skipf("no axe-core from npm: %v", err)
			}
			accessible(t, ctx, scheme, script)
		})
	}
}

func accessible(t *testing.T, ctx context.Context, scheme, script string) {
	t.Helper()
	Do(t, ctx,
		Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.Evaluate[chromedp.Void](script+";undefined"))
	found := Value(t, ctx, chromedp.Evaluate[string](`axe.run().then(r => JSON.stringify(r.violations.map(v =>
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

// Tell fails the test for each complaint.
func (c *Complaints) Tell(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, complaint := range c.list {
		t.Error(complaint)
	}
}
