package show

import (
	"bytes"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"postage/internal/test/recordtest"
	"postage/internal/test/reporttest"
	"postage/record"
)

// pageSample is sample with messages of different sizes, and latencies, and with cases of
// the other stages.
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
	addStages(rec)
	return []NamedRun{{"sample.txt", rec}}
}

// addStages adds cases of other stages: the order message encoded, sealed, sent over each kind of
// connection, and stored.
func addStages(rec *record.Record) {
	rng := rand.New(rand.NewPCG(7, 8))
	addCase(rec, rng, "Encode/msg=order/op=encode", 10,
		spec{"codec=protobuf", "baseline", "", 800, 2}, spec{"codec=control", "control", "", 800, 2},
		spec{"codec=polyglot", "contender", "", 250, 0}, spec{"codec=json", "contender", "", 2400, 5},
		spec{"codec=json/reuse=no", "contender", "", 2600, 5}, spec{"codec=hyper", "contender", "not possible: it only decodes", 0, 0})
	addCase(rec, rng, "Encode/msg=blob/op=decode", 10,
		spec{"codec=protobuf", "baseline", "", 4000, 2}, spec{"codec=control", "control", "", 4000, 2}, spec{"codec=polyglot", "contender", "", 1000, 0})
	addCase(rec, rng, "Seal/pad=none", 10,
		spec{"lib=webpush-go", "baseline", "", 300_000, 230}, spec{"lib=control", "control", "", 300_000, 230}, spec{"lib=webpush", "contender", "", 40_000, 64})
	type corner struct {
		tls, reuse string
		extra      float64
	}
	for _, c := range []corner{{"off", "yes", 0}, {"on", "yes", 400}, {"off", "no", 40_000}, {"on", "no", 900_000}} {
		http3 := record.Proof("")
		if c.tls == "off" {
			http3 = "not possible: RFC 9001: QUIC has no cleartext"
		}
		addCase(rec, rng, "Send/slice=page/tls="+c.tls+"/reuse="+c.reuse, 10,
			spec{"proto=http1", "baseline", "", 20_000 + c.extra, 70}, spec{"proto=control", "control", "", 20_000 + c.extra, 70},
			spec{"proto=grpc", "contender", "", 30_000 + c.extra, 190}, spec{"proto=http3", "contender", http3, 50_000 + c.extra, 300})
	}
	addCase(rec, rng, "Send/slice=cert/tls=on/reuse=no", 10,
		spec{"proto=http1/cert=p256", "baseline", "", 150_000, 500}, spec{"proto=control", "control", "", 150_000, 500},
		spec{"proto=http1/cert=rsa", "contender", "", 940_000, 500}, spec{"proto=http3/cert=rsa", "contender", "", 980_000, 900},
		spec{"floor=handshake/cert=p256", "floor", "", 110_000, 400}, spec{"floor=handshake/cert=rsa", "floor", "", 890_000, 400})
	addCase(rec, rng, "Send/slice=size/tls=on/reuse=yes/size=64k", 10,
		spec{"proto=http1", "baseline", "", 90_000, 70}, spec{"proto=control", "control", "", 90_000, 70}, spec{"proto=grpc", "contender", "", 99_000, 70})
	for _, c := range []string{"Store/peer=sink/rows=1000/size=16KB", "Store/peer=postgres/rows=1000/size=16KB"} {
		addCase(rec, rng, c, 10,
			spec{"lib=pgx/call=exec", "baseline", "", 5e6, 1_600_000}, spec{"lib=control", "control", "", 5e6, 1_600_000},
			spec{"lib=pgbulk/call=upsert", "contender", "", 2e6, 200_000}, spec{"floor=precomputed", "floor", "", 1e6, 0})
	}
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			if s := &rec.Blocks[i].Series[j]; strings.HasPrefix(s.Row, "Store/") {
				s.Counters = map[string][]float64{"server-cpu-ns/op": nil}
				for _, ns := range s.WallNS {
					s.Counters["server-cpu-ns/op"] = append(s.Counters["server-cpu-ns/op"], 3*float64(ns))
				}
			}
		}
	}
}

func htmlOf(t *testing.T, runs []NamedRun) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, runs, stages); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTML(t *testing.T) {
	page := htmlOf(t, pageSample())
	reporttest.Golden(t, "page.html", page)
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
	if len(links) < 3 {
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
