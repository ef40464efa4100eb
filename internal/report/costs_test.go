package report

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
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
	a := verdict.Analyze(rec)
	var cases []cost.Case
	for i := range a.Cases {
		cases = append(cases, cost.Case{CaseResult: &a.Cases[i], Record: rec})
	}
	return cost.New(stages, cases)
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
	if cost.New(stages, nil) != nil || cost.New(nil, []cost.Case{{CaseResult: &verdict.Analyze(rec).Cases[0], Record: rec}}) != nil {
		t.Error("costs of nothing")
	}
	a := verdict.Analyze(rec)
	if v := newCostView(cost.New(stages, []cost.Case{{CaseResult: &a.Cases[len(a.Cases)-1], Record: rec}})); v == nil {
		t.Error("no costs of a store alone")
	}
}

// The script computes what Go computes.
func TestCostsInBrowser(t *testing.T) {
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(opened(t, pageSample())))
	m := sampleCosts(t)
	first := m.First()
	choices := []cost.Choice{first}
	add := func(change func(*cost.Choice)) {
		ch := first.With(codec, first.At[codec])
		change(&ch)
		choices = append(choices, ch)
	}
	for i := range m.Messages {
		for j, o := range m.Steps[codec].Options(i) {
			if o.Why == "" {
				add(func(ch *cost.Choice) { ch.Message, ch.At[codec] = i, j })
			}
		}
	}
	for i, o := range m.Steps[sending].Options(0) {
		if o.Why == "" {
			add(func(ch *cost.Choice) { ch.At[sending], ch.Rate = i, 123456 })
		}
	}
	for i := range m.Steps[sealing].Options(0) {
		add(func(ch *cost.Choice) { ch.At[sealing], ch.CPUHour = i, 0.31 })
	}
	for i := range m.Steps[storing].Options(0) {
		add(func(ch *cost.Choice) { ch.At[storing], ch.GB = i, 0 })
	}
	add(func(ch *cost.Choice) { ch.Rate, ch.At[codec] = 0, 0 })
	was := text(t, ctx, shownBill)
	for _, ch := range choices {
		for _, set := range []struct {
			id string
			to any
		}{{"message", ch.Message}, {"codec", ch.At[codec]}, {"seal", ch.At[sealing]}, {"send", ch.At[sending]}, {"store", ch.At[storing]}, {"rate", ch.Rate}, {"cpu", ch.CPUHour}, {"gb", ch.GB}} {
			do(t, ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => { e.value = "%v"; e.dispatchEvent(new Event("input", {bubbles: true})); })(document.getElementById("cost-%s"))`, set.to, set.id)))
		}
		compareBill(t, ch, m.Bill(ch), text(t, ctx, shownBill))
		if reflect.DeepEqual(ch, first) && text(t, ctx, shownBill) != was {
			t.Errorf("the script writes\n%s\nwhere Go wrote\n%s", text(t, ctx, shownBill), was)
		}
	}
	if len(choices) < 15 {
		t.Errorf("only %d choices", len(choices))
	}
	// By hand, as a user does: another message brings its codecs.
	do(t, ctx, chromedp.SetValue(chromedp.CSS("#cost-message"), "0"), chromedp.Evaluate[chromedp.Void](`document.getElementById("cost-message").dispatchEvent(new Event("input", {bubbles: true}))`))
	if got, want := number(t, ctx, `document.getElementById("cost-codec").options.length`), len(m.Steps[codec].Options(0)); got != want {
		t.Errorf("%d codecs, want %d", got, want)
	}
}

// shownBill is what the calculator shows, as JSON.
const shownBill = `(s => JSON.stringify({
	total: +s.querySelector(".total data").value, text: s.querySelector(".total").textContent, dominant: s.querySelector(".dominant").textContent,
	lines: Array.from(s.querySelectorAll("table.costs tbody tr")).map(r => ({name: r.cells[0].textContent, each: r.cells[1].textContent, usd: +r.querySelector("data").value, text: r.cells[2].textContent, share: r.cells[3].textContent})),
	switches: Array.from(s.querySelectorAll(".switches data")).map(d => ({saving: +d.value, text: d.textContent}))
}))(document.getElementById("costs"))`

func compareBill(t *testing.T, ch cost.Choice, want cost.Bill, shown string) {
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
	near("total", got.Total, want.Total.Value)
	same(got.Text, moneyText(want.Total)+" USD a month")
	same(got.Dominant, dominant(&want))
	if len(got.Lines) != len(want.Lines) || len(got.Switches) != len(want.Switches) {
		t.Errorf("%+v: %d lines and %d switches, want %d and %d", ch, len(got.Lines), len(got.Switches), len(want.Lines), len(want.Switches))
		return
	}
	for i, line := range want.Lines {
		same(got.Lines[i].Name, line.Name)
		near(line.Name, got.Lines[i].USD, line.USD.Value)
		same(got.Lines[i].Text, moneyText(line.USD))
		if line.Traffic {
			same(got.Lines[i].Each, grouped(line.Each.Value)+" bytes")
		} else {
			same(got.Lines[i].Each, durationText(line.Each))
		}
	}
	for i := range want.Switches {
		near(want.Switches[i].What, got.Switches[i].Saving, want.Switches[i].Saving.Value)
		same(got.Switches[i].Text, switchText(&want.Switches[i]))
	}
}
