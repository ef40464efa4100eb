package report

import (
	"bytes"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"postage/lab/recordtest"
	"postage/record"
)

// pageSample is sample with messages of different sizes, and latencies.
func pageSample() []NamedRun {
	rec := sample()
	for i := range rec.Rows {
		if m := rec.Rows[i].Metrics; m != nil && strings.Contains(rec.Rows[i].Case, "order") {
			m["encoded-bytes"] = 300 + 40*float64(i)
			for j, unit := range []string{"p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns"} {
				m[unit] = 1000 * math.Pow(2, float64(i+j))
			}
		}
	}
	rec.Rows[2].Module = `values that say "<b>&amp;" and </script>`
	return []NamedRun{{"sample.txt", rec}}
}

func htmlOf(t *testing.T, runs []NamedRun) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTML(t *testing.T) {
	page := htmlOf(t, pageSample())
	golden(t, "page.html", page)
	// What a record says is text, never markup.
	if bytes.Contains(page, []byte("<b>&amp;")) || bytes.Count(page, []byte("</script>")) != 1 {
		t.Error("text of a record became markup")
	}
	if bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("the template rejected a value")
	}
	if m := regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:)?//`).Find(page); m != nil {
		t.Errorf("it loads something: %s", m)
	}
}

// Every link leads somewhere, every id is one, every plot has a table beneath it.
func TestHTMLHoldsTogether(t *testing.T) {
	runs := append(pageSample(), pageSample()...)
	root, err := html.Parse(bytes.NewReader(htmlOf(t, runs)))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]int{}, map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val]++
			case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
				links[a.Val[1:]] = true
			}
		}
		if n.Data == "section" {
			plots, tables := 0, 0
			for d := range n.Descendants() {
				switch d.Data {
				case "svg":
					plots++
				case "table":
					tables++
				}
			}
			if plots > 0 && tables == 0 {
				t.Errorf("%d plots and no table in %v", plots, n.Attr)
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s is there %d times", id, n)
		}
	}
	for link := range links {
		if ids[link] == 0 {
			t.Errorf("link to #%s leads nowhere", link)
		}
	}
	if len(links) < 4 {
		t.Errorf("only %d links", len(links))
	}
}

// A run of 700 rows with 20 blocks each, and one of 200 with 56, make pages under 1.5 MB.
func TestHTMLSize(t *testing.T) {
	for _, size := range []struct{ cases, blocks int }{{100, 20}, {30, 56}} {
		r := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: size.cases, Blocks: size.blocks}
		page := htmlOf(t, []NamedRun{{"large.txt", r.Record()}})
		t.Logf("%d cases, %d blocks: %d bytes", size.cases, size.blocks, len(page))
		if len(page) > 1_500_000 {
			t.Errorf("%d bytes", len(page))
		}
	}
}

func TestHTMLOfNothing(t *testing.T) {
	for _, runs := range [][]NamedRun{nil, {{"empty.txt", &record.Record{}}}} {
		if page := htmlOf(t, runs); !bytes.Contains(page, []byte("No case has figures")) {
			t.Errorf("%s", page)
		}
	}
}

func TestTicksAreFewAndWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 2000 {
		low := math.Exp(20*rng.Float64() - 10)
		x := newAxis([]float64{low, low * math.Exp(12*rng.Float64())}, 100, 500)
		ticks := x.ticks(tickText)
		if len(ticks) > 14 {
			t.Errorf("%d ticks from %v to %v", len(ticks), x.low, x.high)
		}
		for i, tick := range ticks {
			if tick.At < 100 || tick.At > 500 || i > 0 && tick.At < ticks[i-1].At {
				t.Errorf("ticks %v", ticks)
			}
		}
	}
}

// The page shows the published claims once a run says something of one.
func TestHTMLClaims(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec := run.Record()
	if page := htmlOf(t, []NamedRun{{"a.txt", rec}}); bytes.Contains(page, []byte(`id="claims"`)) {
		t.Error("claims that nothing is known of")
	}
	const was, is = "Encode/msg=0/op=encode/", "Encode/msg=benchmark/op=decode/"
	rename := strings.NewReplacer(was+"codec=base", is+"codec=protobuf", was+"codec=a", is+"codec=polyglot", strings.TrimSuffix(was, "/"), strings.TrimSuffix(is, "/"),
		"codec=base", "codec=protobuf", "codec=a", "codec=polyglot").Replace
	for i := range rec.Rows {
		row := &rec.Rows[i]
		row.Name, row.Case, row.Contender = rename(row.Name), rename(row.Case), rename(row.Contender)
	}
	for i := range rec.Blocks {
		rec.Blocks[i].Case = rename(rec.Blocks[i].Case)
		for j := range rec.Blocks[i].Series {
			rec.Blocks[i].Series[j].Row = rename(rec.Blocks[i].Series[j].Row)
		}
	}
	page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
	if !strings.Contains(page, `id="claims"`) || !strings.Contains(page, "verdict\">holds") || !strings.Contains(page, "15. a fresh TLS") {
		t.Error("a claim that was measured is not shown")
	}
}
