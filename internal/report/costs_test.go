package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/record"
)

// costsOf are those of a record.
func costsOf(rec *record.Record) *cost.Model {
	return cost.New(stages, verdict.Analyze(rec).Cases)
}

// sampleCosts are those of the page's sample, with the messages' places by name.
func sampleCosts(t *testing.T) *cost.Model {
	t.Helper()
	m := costsOf(pageSample()[0].Record)
	if m == nil {
		t.Fatal("no costs")
	}
	return m
}

// The places of the steps.
const (
	codec = iota
	sealing
	sending
	storing
)

// What was not measured cannot be chosen, and says why.
func TestCostsSayWhatIsMissing(t *testing.T) {
	m := sampleCosts(t)
	why := map[string]string{}
	for _, o := range slices.Concat(m.Steps[codec].Options(slices.Index(m.Messages, "order")), m.Steps[sending].Options(0)) {
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
	m = costsOf(rec)
	for _, o := range m.Steps[sending].Options(0)[1:] {
		if o.Why == "" {
			t.Errorf("%s can be chosen without its server's CPU time", o.Label)
		}
	}
	if first := m.First(); first.At[sending] != 0 {
		t.Errorf("the page begins with %+v", first)
	}
	cases := verdict.Analyze(rec).Cases
	if cost.New(stages, nil) != nil || cost.New(nil, cases[:1]) != nil {
		t.Error("costs of nothing")
	}
	if v := newCostView(cost.New(stages, cases[len(cases)-1:]), cost.Choice{}); v == nil {
		t.Error("no costs of a store alone")
	}
}

// Each message has its bill, and every way of its steps the bill with it.
func TestCostsOfEveryMessage(t *testing.T) {
	m := sampleCosts(t)
	v := newCostView(m, cost.Choice{Rate: 123456})
	if len(v.Messages) != len(m.Messages) || !strings.Contains(v.Prices, "123456 messages a second, 0.04 USD a CPU hour") {
		t.Fatalf("%d messages, %s", len(v.Messages), v.Prices)
	}
	var page bytes.Buffer
	if err := HTML(&page, Contents{Runs: pageSample(), Stages: stages, Prices: cost.Choice{Rate: 123456}}); err != nil {
		t.Fatal(err)
	}
	_, costs, _ := strings.Cut(page.String(), `<section id="costs"`)
	for i, part := range strings.Split(costs, `<div class="bill"`)[1 : len(m.Messages)+1] {
		ch := m.First()
		ch.Message, ch.Rate = i, 123456
		ch = m.Usual(ch)
		bill := m.Bill(ch)
		if !strings.Contains(part, `data-message="`+m.Messages[i]+`"`) || !strings.Contains(part, moneyText(bill.Total)) || strings.Count(part, `class="left share"`) != len(bill.Lines) {
			t.Errorf("%s: %s, want %+v", m.Messages[i], part, bill)
		}
		if (strings.Count(part, "<details>") == len(m.Steps)) != (i == 0) {
			t.Errorf("%s: not %d steps: %s", m.Messages[i], len(m.Steps), part)
		}
		for j, o := range m.Steps[codec].Options(i) {
			want := o.Label + "</th><td colspan=\"3\">" + o.Why
			if o.Why == "" {
				want = moneyText(m.Bill(ch.With(codec, j)).Total)
			}
			if chosen := "<strong>" + o.Label + "</strong>"; !strings.Contains(part, want) || strings.Contains(part, chosen) != (ch.At[codec] == j) {
				t.Errorf("%s by %s: no %q in %s", m.Messages[i], o.Label, want, part)
			}
		}
	}
}

// The page shows the usual message's costs, and another's once it is chosen.
func TestCostsInBrowser(t *testing.T) {
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(opened(t, pageSample())))
	shown := func() string {
		return text(t, ctx, `Array.from(document.querySelectorAll("#costs .bill")).filter(b => b.getClientRects().length).map(b => b.dataset.message).join(" ")`)
	}
	if got := shown(); got != "order" {
		t.Errorf("it begins with the costs of %q", got)
	}
	do(t, ctx, chromedp.SetValue(chromedp.CSS("#cost-message"), "blob"), chromedp.Evaluate[chromedp.Void](`document.getElementById("cost-message").dispatchEvent(new Event("input", {bubbles: true}))`))
	if got := shown(); got != "blob" {
		t.Errorf("chosen is blob, shown %q", got)
	}
}
