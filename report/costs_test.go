package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"postage/verdict"
)

// sampleCosts are those of the page's sample.
func sampleCosts(t *testing.T) *costs {
	t.Helper()
	rec := pageSample()[0].Record
	a := verdict.Analyze(rec)
	var cases []*caseOfRun
	for i := range a.Cases {
		cases = append(cases, &caseOfRun{CaseResult: &a.Cases[i], rec: rec})
	}
	c := newCosts(cases)
	if c == nil {
		t.Fatal("no costs")
	}
	return c
}

// A bill that can be reckoned by hand.
func TestCostsByHand(t *testing.T) {
	bound := func(x float64) *float64 { return &x }
	c := &costs{
		Messages: []costMessage{{"m", []costOption{
			{Label: "a", Parts: []costPart{{"encode", 3000, bound(2700), bound(3300)}, {"decode", 4000, bound(3600), bound(4400)}}, Bytes: 100},
			{Label: "b", Parts: []costPart{{"encode", 1000, bound(1000), bound(1000)}, {"decode", 1000, bound(1000), bound(1000)}}, Bytes: 150},
		}}},
		Seals:  []costOption{{Label: "none"}, {Label: "sealed", Parts: []costPart{{"seal", 5000, nil, nil}}, Bytes: 500, Whole: true}},
		Sends:  []costOption{{Label: "none"}, {Label: "http", Bytes: 900}},
		Stores: []costOption{{Label: "none"}},
	}
	// 2,628,000 messages a month; of 3600 s, 0.0026 h the microsecond; 2.628 GB the 1000 bytes.
	ch := choice{send: 1, rate: 1, cpuHour: 1000, gb: 10}
	b := c.sum(ch)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("encode", b.lines[0].usd.Value, 2.19) // 3 µs × 2,628,000 / 3600 s × 1000
	near("decode", b.lines[1].usd.Value, 2.92)
	near("traffic", b.lines[2].usd.Value, 26.28)
	near("total", b.total.Value, 31.39)
	near("half-width", b.total.High-b.total.Value, math.Hypot(0.219, 0.292))
	if got := b.dominant(); got != "Most of it is traffic: 84%." {
		t.Error(got)
	}
	near("saving", b.switches[0].saving.Value, 2.19+2.92-1.46-1.314)
	if got := b.switches[0].text(); got != "codec: b in place of a saves 2.34 (1.97 to 2.70) USD a month." {
		t.Error(got)
	}
	// What is sealed has the seal's size, and its part has no interval.
	ch.seal = 1
	b = c.sum(ch)
	near("sealed traffic", b.lines[3].usd.Value, 1400*26.28/1000)
	if b.total.bounded() || !strings.Contains(moneyText(b.total), "no interval yet") {
		t.Errorf("an interval from nothing: %s", moneyText(b.total))
	}
	// Nothing sent is no traffic.
	near("unsent", c.sum(choice{rate: 1, cpuHour: 1000, gb: 10}).lines[2].usd.Value, 0)
}

// What was not measured cannot be chosen, and says why.
func TestCostsSayWhatIsMissing(t *testing.T) {
	c := sampleCosts(t)
	order := c.Messages[slices.IndexFunc(c.Messages, func(m costMessage) bool { return m.Name == "order" })]
	why := map[string]string{}
	for _, o := range slices.Concat(order.Codecs, c.Sends) {
		why[strings.TrimSpace(o.Heading+" "+o.Label)] = o.Why
		if o.Why != "" && o.Parts != nil {
			t.Errorf("%s has costs, though %s", o.Label, o.Why)
		}
	}
	for label, want := range map[string]string{
		"protobuf": "", "json": "decoding is not in this record", "json/reuse=no": "", "hyper": "not possible: it only decodes",
		"slice=page tls=off reuse=yes http3":            "not possible: RFC 9001: QUIC has no cleartext",
		"slice=size tls=on reuse=yes size=64k all 2":    "it carries 64k of its own",
		"slice=cert tls=on reuse=no http3/cert=rsa":     "",
		"slice=page tls=on reuse=yes http1":             "",
		"slice=cert tls=on reuse=no handshake/cert=rsa": "",
	} {
		if got, there := why[label]; got != want || there == strings.Contains(label, "handshake") {
			t.Errorf("%s: %q (there: %v), want %q", label, got, there, want)
		}
	}
	// A server whose CPU time is unknown makes an exchange's cost unknown.
	rec := pageSample()[0].Record
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			delete(rec.Blocks[i].Series[j].Counters, "server-cpu-ns/op")
		}
	}
	a := verdict.Analyze(rec)
	var cases []*caseOfRun
	for i := range a.Cases {
		cases = append(cases, &caseOfRun{CaseResult: &a.Cases[i], rec: rec})
	}
	c = newCosts(cases)
	for _, o := range c.Sends[1:] {
		if o.Why == "" {
			t.Errorf("%s can be chosen without its server's CPU time", o.Label)
		}
	}
	if first := c.first(); first.send != 0 {
		t.Errorf("the page begins with %+v", first)
	}
	if newCosts(nil) != nil {
		t.Error("costs of nothing")
	}
	if v := newCostView(newCosts([]*caseOfRun{{CaseResult: &a.Cases[len(a.Cases)-1], rec: rec}})); v == nil {
		t.Error("no costs of a store alone")
	}
}

// What the script reckons is what Go reckons.
func TestCostsInBrowser(t *testing.T) {
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(opened(t, pageSample())))
	c := sampleCosts(t)
	first := c.first()
	choices := []choice{first}
	add := func(change func(*choice)) {
		ch := first
		change(&ch)
		choices = append(choices, ch)
	}
	for i, m := range c.Messages {
		for j, o := range m.Codecs {
			if o.Why == "" {
				add(func(ch *choice) { ch.message, ch.codec = i, j })
			}
		}
	}
	for i, o := range c.Sends {
		if o.Why == "" {
			add(func(ch *choice) { ch.send, ch.rate = i, 123456 })
		}
	}
	for i := range c.Seals {
		add(func(ch *choice) { ch.seal, ch.cpuHour = i, 0.31 })
	}
	for i := range c.Stores {
		add(func(ch *choice) { ch.store, ch.gb = i, 0 })
	}
	add(func(ch *choice) { ch.rate, ch.codec = 0, 0 })
	was := text(t, ctx, shownBill)
	for _, ch := range choices {
		for _, set := range []struct {
			id string
			to any
		}{{"message", ch.message}, {"codec", ch.codec}, {"seal", ch.seal}, {"send", ch.send}, {"store", ch.store}, {"rate", ch.rate}, {"cpu", ch.cpuHour}, {"gb", ch.gb}} {
			do(t, ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => { e.value = "%v"; e.dispatchEvent(new Event("input", {bubbles: true})); })(document.getElementById("cost-%s"))`, set.to, set.id)))
		}
		compareBill(t, ch, c.sum(ch), text(t, ctx, shownBill))
		if ch == first && text(t, ctx, shownBill) != was {
			t.Errorf("the script writes\n%s\nwhere Go wrote\n%s", text(t, ctx, shownBill), was)
		}
	}
	if len(choices) < 15 {
		t.Errorf("only %d choices", len(choices))
	}
	// By hand, as a user does: another message brings its codecs.
	do(t, ctx, chromedp.SetValue(chromedp.CSS("#cost-message"), "0"), chromedp.Evaluate[chromedp.Void](`document.getElementById("cost-message").dispatchEvent(new Event("input", {bubbles: true}))`))
	if got, want := number(t, ctx, `document.getElementById("cost-codec").options.length`), len(c.Messages[0].Codecs); got != want {
		t.Errorf("%d codecs, want %d", got, want)
	}
}

// shownBill is what the calculator shows, as JSON.
const shownBill = `(s => JSON.stringify({
	total: +s.querySelector(".total data").value, text: s.querySelector(".total").textContent, dominant: s.querySelector(".dominant").textContent,
	lines: Array.from(s.querySelectorAll("table.costs tbody tr")).map(r => ({name: r.cells[0].textContent, each: r.cells[1].textContent, usd: +r.querySelector("data").value, text: r.cells[2].textContent, share: r.cells[3].textContent})),
	switches: Array.from(s.querySelectorAll(".switches data")).map(d => ({saving: +d.value, text: d.textContent}))
}))(document.getElementById("costs"))`

func compareBill(t *testing.T, ch choice, want bill, shown string) {
	t.Helper()
	var got struct {
		Total          float64
		Text, Dominant string
		Lines          []struct {
			Name, Each, Text string
			USD              float64
		}
		Switches []struct {
			Saving float64
			Text   string
		}
	}
	if err := json.Unmarshal([]byte(shown), &got); err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%+v: %s is %v, want %v", ch, what, got, want)
		}
	}
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%+v: %q, want %q", ch, got, want)
		}
	}
	near("total", got.Total, want.total.Value)
	same(got.Text, moneyText(want.total)+" USD a month")
	same(got.Dominant, want.dominant())
	if len(got.Lines) != len(want.lines) || len(got.Switches) != len(want.switches) {
		t.Errorf("%+v: %d lines and %d switches, want %d and %d", ch, len(got.Lines), len(got.Switches), len(want.lines), len(want.switches))
		return
	}
	for i, line := range want.lines {
		same(got.Lines[i].Name, line.name)
		near(line.name, got.Lines[i].USD, line.usd.Value)
		same(got.Lines[i].Text, moneyText(line.usd))
		if line.name == "traffic" {
			same(got.Lines[i].Each, grouped(line.each.Value)+" bytes")
		} else {
			same(got.Lines[i].Each, durationText(line.each))
		}
	}
	for i := range want.switches {
		near(want.switches[i].what, got.Switches[i].Saving, want.switches[i].saving.Value)
		same(got.Switches[i].Text, want.switches[i].text())
	}
}
