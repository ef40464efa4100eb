package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"postage/record"
	"postage/stats"
	"postage/verdict"
)

// What the calculator begins with. The prices are about what the large clouds list: a vCPU
// hour of a general-purpose machine on demand, and a GB (10^9 bytes) to the internet.
const (
	defaultRate    = 1000
	defaultCPUHour = 0.04
	defaultGB      = 0.09

	// hoursPerMonth is what clouds reckon a month at.
	hoursPerMonth = 730
)

// costs is what a message's way costs, stage by stage, in all the ways that were measured.
// The page holds it as JSON for its script, which reckons as [costs.sum] does.
type costs struct {
	Messages             []costMessage
	Seals, Sends, Stores []costOption
}

type costMessage struct {
	Name   string
	Codecs []costOption
}

// costOption is one way to do a stage's work for one message.
type costOption struct {
	Label string
	// Heading is the case, to list options below.
	Heading string
	// Group is that of the options which may be switched to, as they do the same work.
	Group string
	// Why it cannot be chosen, "" if it can.
	Why   string
	Parts []costPart
	// Bytes are those that it puts on the wire, a message.
	Bytes float64
	// Whole says that Bytes are all of the message, whatever it was encoded to.
	Whole bool
}

// costPart is the CPU time a message, in nanoseconds. Low and High are nil where there are
// too few blocks for an interval.
type costPart struct {
	Name      string
	NS        float64
	Low, High *float64
}

// choice is what a user of the calculator chose: indexes, and prices in USD.
type choice struct {
	message, codec, seal, send, store int
	rate, cpuHour, gb                 float64
}

// newCosts collects what runs measured, nil if that is nothing of any stage's. Of cases
// that are in several runs the first counts.
func newCosts(cases []*caseOfRun) *costs {
	c := &costs{
		Seals:  []costOption{{Label: "not sealed"}},
		Sends:  []costOption{{Label: "not sent"}},
		Stores: []costOption{{Label: "not stored"}},
	}
	seen := map[string]bool{}
	decoding := map[string]*caseOfRun{}
	var encoding []*caseOfRun
	for _, cr := range cases {
		if seen[cr.Name] || unmeasured(cr.CaseResult) != "" {
			continue
		}
		seen[cr.Name] = true
		k := record.KeysOf(cr.Name)
		stage := record.StageOf(cr.Name)
		switch {
		case stage == "Encode" && k.Get("op") == "encode":
			encoding = append(encoding, cr)
		case stage == "Encode" && k.Get("op") == "decode":
			decoding[k.Get("msg")] = cr
		case stage == "Seal" && k.Get("pad") != "":
			c.Seals = append(c.Seals, cr.options(sealing)...)
		case stage == "Send":
			c.Sends = append(c.Sends, cr.options(sending)...)
		case stage == "Store" && k.Get("rows") != "":
			c.Stores = append(c.Stores, cr.options(storing)...)
		}
	}
	for _, cr := range encoding {
		msg := record.KeysOf(cr.Name).Get("msg")
		other := decoding[msg]
		m := costMessage{Name: msg, Codecs: cr.options(func(cr *caseOfRun, r *verdict.Result, o *costOption) string {
			return coding(cr, other, r, o)
		})}
		for i := range m.Codecs {
			m.Codecs[i].Heading = "" // the message says it
		}
		c.Messages = append(c.Messages, m)
	}
	if len(c.Messages) == 0 {
		if len(c.Seals)+len(c.Sends)+len(c.Stores) == 3 {
			return nil
		}
		absent := "not in this record"
		c.Messages = []costMessage{{absent, []costOption{{Label: absent}}}}
	}
	return c
}

// options are the ways of a case; fill says what one costs, or why that is not known.
func (cr *caseOfRun) options(fill func(*caseOfRun, *verdict.Result, *costOption) string) []costOption {
	var all []costOption
	for _, r := range cr.ways() {
		o := costOption{Label: short(r.Row.Contender), Heading: record.KeysOf(cr.Name).Join(" "), Group: cr.Name}
		if r.NSOp == nil {
			o.Why = reason(r)
		} else {
			o.Why = fill(cr, r, &o)
		}
		if o.Why != "" {
			o.Parts = nil
		}
		all = append(all, o)
	}
	if len(all) > 1 && !slices.ContainsFunc(all, func(o costOption) bool { return o.Why == "" || o.Why != all[0].Why }) {
		all[0].Label = fmt.Sprintf("all %d", len(all))
		return all[:1]
	}
	return all
}

// coding is to encode a message and, at the other end, to decode it.
func coding(cr, decode *caseOfRun, r *verdict.Result, o *costOption) string {
	if decode == nil {
		return "decoding is not in this record"
	}
	for _, d := range decode.Rows {
		if d.Row.Contender != r.Row.Contender {
			continue
		}
		if d.NSOp == nil {
			return "decoding: " + reason(d)
		}
		o.Bytes = significant(r.Metrics[encodedBytes])
		return firstOf(cr.cpu(r, "encode", 1, o), decode.cpu(d, "decode", 1, o))
	}
	return "decoding is not in this record"
}

func sealing(cr *caseOfRun, r *verdict.Result, o *costOption) string {
	o.Bytes, o.Whole = significant(r.Metrics[encodedBytes]), true
	return cr.cpu(r, "seal", 1, o)
}

// sending counts the exchanges whose payload is a hello: others carry a message of their
// own, which would be counted beside the one that was chosen.
func sending(cr *caseOfRun, r *verdict.Result, o *costOption) string {
	k := record.KeysOf(cr.Name)
	o.Group = "slice=" + k.Get("slice") + " tls=" + k.Get("tls")
	out, sent := r.Metrics["wire-out-B/op"]
	in, received := r.Metrics["wire-in-B/op"]
	switch size := r.Row.Settings["size"]; {
	case size != "" && size != "hello":
		return "it carries " + size + " of its own"
	case !sent || !received:
		return "its bytes on the wire were not measured"
	}
	o.Bytes = significant(out + in)
	return firstOf(cr.cpu(r, "send: client", 1, o), cr.serverCPU(r, "send: server", 1, o))
}

// storing is an operation divided by its rows.
func storing(cr *caseOfRun, r *verdict.Result, o *costOption) string {
	k := record.KeysOf(cr.Name)
	rows, err := strconv.ParseFloat(k.Get("rows"), 64)
	if err != nil || rows < 1 {
		return "it does not say how many rows it writes"
	}
	if k.Get("peer") == "sink" {
		o.Label += " (client alone)"
		return cr.cpu(r, "store: client", rows, o)
	}
	return firstOf(cr.cpu(r, "store: client", rows, o), cr.serverCPU(r, "store: database", rows, o))
}

func firstOf(reasons ...string) string {
	for _, why := range reasons {
		if why != "" {
			return why
		}
	}
	return ""
}

// cpu adds the CPU time of a row's own process to an option.
func (cr *caseOfRun) cpu(r *verdict.Result, name string, per float64, o *costOption) string {
	return cr.part(r, name, per, o, "its CPU time was not measured", func(s *record.Series) (float64, bool) {
		return stats.Median(s.CPUNSPerOp(r.Row.N)), s.CPUNS != nil
	})
}

// serverCPU adds the CPU time of the process at the other end.
func (cr *caseOfRun) serverCPU(r *verdict.Result, name string, per float64, o *costOption) string {
	return cr.part(r, name, per, o, "its server's CPU time was not measured", func(s *record.Series) (float64, bool) {
		values, ok := s.Counters["server-cpu-ns/op"]
		if !ok {
			return 0, false
		}
		return record.CounterPerOp(values, r.Row.N), true
	})
}

// part adds the median over the blocks of a figure an operation, with its interval, to an
// option; it returns why where there is none.
func (cr *caseOfRun) part(r *verdict.Result, name string, per float64, o *costOption, why string, figure func(*record.Series) (float64, bool)) string {
	var values []float64
	for _, block := range cr.rec.BlocksOf(cr.Name) {
		if s := block.Of(r.Row.Name); s != nil {
			if v, ok := figure(s); ok {
				values = append(values, v/per)
			}
		}
	}
	if len(values) == 0 {
		return why
	}
	v, low, high := stats.MedianInterval(values, 0.95)
	p := costPart{Name: name, NS: significant(v)}
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		low, high = significant(low), significant(high)
		p.Low, p.High = &low, &high
	}
	o.Parts = append(o.Parts, p)
	return ""
}

// significant rounds to five digits, to keep the page small.
func significant(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return x
	}
	return y
}

// first is the choice that the page begins with: the order message if there is one, each
// stage's first baseline that can be chosen, TLS on a kept connection if that was measured.
func (c *costs) first() choice {
	ch := choice{rate: defaultRate, cpuHour: defaultCPUHour, gb: defaultGB}
	for i, m := range c.Messages {
		if m.Name == "order" {
			ch.message = i
		}
	}
	ch.codec = firstFree(c.Messages[ch.message].Codecs, "protobuf")
	for i, o := range c.Sends {
		if k := record.KeysOf(strings.ReplaceAll(o.Heading, " ", "/")); o.Why == "" && k.Get("tls") == "on" && k.Get("reuse") == "yes" {
			ch.send = i
			break
		}
	}
	if ch.send == 0 && len(c.Sends) > 1 {
		ch.send = 1 + firstFree(c.Sends[1:], "")
	}
	if len(c.Stores) > 1 {
		ch.store = 1 + firstFree(c.Stores[1:], "pgx/call=exec")
	}
	for _, s := range []struct {
		options []costOption
		at      *int
	}{{c.Sends, &ch.send}, {c.Stores, &ch.store}} {
		if s.options[*s.at].Why != "" {
			*s.at = 0
		}
	}
	return ch
}

// firstFree is the first option that can be chosen, the preferred one if it can.
func firstFree(options []costOption, preferred string) int {
	first := -1
	for i, o := range options {
		if o.Why != "" {
			continue
		}
		if o.Label == preferred {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return max(first, 0)
}

// chosen is a dimension of the choice.
type chosen struct {
	name    string
	options []costOption
	at      int
}

func (c *costs) chosen(ch choice) []chosen {
	return []chosen{{"codec", c.Messages[ch.message].Codecs, ch.codec}, {"seal", c.Seals, ch.seal}, {"send", c.Sends, ch.send}, {"store", c.Stores, ch.store}}
}

// bill is what a choice costs a month.
type bill struct {
	lines    []billLine
	total    quantity
	switches []costSwitch
}

type billLine struct {
	name string
	each quantity // CPU nanoseconds a message; of traffic, bytes
	usd  quantity // a month
}

// costSwitch is the cheapest other option for one of the choices.
type costSwitch struct {
	what, from, to string
	saving         quantity // USD a month; unknown where there is no other
}

// sum reckons what a choice costs a month, in USD:
//
//	messages = rate × 3600 × 730
//	CPU      = nanoseconds / 3.6e12 × messages × price of a CPU hour, part by part
//	traffic  = bytes / 1e9 × messages × price of a GB
//
// The parts were measured in processes of their own, so their errors are independent: the
// half-widths of their intervals add in quadrature, each side for itself. Bytes are counted
// and have none. A saving is the difference of two options' costs; all else cancels.
func (c *costs) sum(ch choice) bill {
	var b bill
	dimensions := c.chosen(ch)
	b.total = exactly(0)
	for _, d := range dimensions {
		for _, p := range d.options[d.at].Parts {
			q := p.quantity()
			b.lines = append(b.lines, billLine{p.Name, q, q.times(ch.cpuFactor())})
		}
	}
	sent := c.bytes(ch)
	b.lines = append(b.lines, billLine{"traffic", exactly(sent), exactly(sent * ch.trafficFactor())})
	for _, l := range b.lines {
		b.total = b.total.plus(1, l.usd)
	}
	for i, d := range dimensions {
		if len(d.options[d.at].Parts) == 0 {
			continue // nothing was chosen
		}
		b.switches = append(b.switches, c.cheapest(ch, i))
	}
	return b
}

// cheapest is the best other option in a dimension.
func (c *costs) cheapest(ch choice, dimension int) costSwitch {
	d := c.chosen(ch)[dimension]
	now := d.options[d.at]
	s := costSwitch{what: d.name, from: now.Label}
	for i, o := range d.options {
		if i == d.at || o.Why != "" || o.Group != now.Group {
			continue
		}
		other := ch
		*[]*int{&other.codec, &other.seal, &other.send, &other.store}[dimension] = i
		saving := exactly((c.bytes(ch) - c.bytes(other)) * ch.trafficFactor())
		for _, p := range now.Parts {
			saving = saving.plus(ch.cpuFactor(), p.quantity())
		}
		for _, p := range o.Parts {
			saving = saving.plus(-ch.cpuFactor(), p.quantity())
		}
		if !s.saving.known || saving.Value > s.saving.Value {
			s.from, s.to, s.saving = now.Label, o.Label, saving
			if o.Heading != now.Heading {
				s.from, s.to = now.named(), o.named()
			}
		}
	}
	return s
}

// named is an option with the case that it is of.
func (o *costOption) named() string { return o.Label + " (" + o.Heading + ")" }

// bytes are those on the wire, a message.
func (c *costs) bytes(ch choice) float64 {
	d := c.chosen(ch)
	body := d[0].options[d[0].at].Bytes
	if seal := d[1].options[d[1].at]; seal.Whole {
		body = seal.Bytes
	}
	if ch.send == 0 {
		return 0
	}
	return body + d[2].options[d[2].at].Bytes
}

func (ch *choice) messages() float64      { return ch.rate * 3600 * hoursPerMonth }
func (ch *choice) cpuFactor() float64     { return ch.messages() / 3.6e12 * ch.cpuHour }
func (ch *choice) trafficFactor() float64 { return ch.messages() / 1e9 * ch.gb }

func (p *costPart) quantity() quantity {
	q := quantity{verdict.Interval{Value: p.NS, Low: math.Inf(-1), High: math.Inf(1)}, true}
	if p.Low != nil && p.High != nil {
		q.Low, q.High = *p.Low, *p.High
	}
	return q
}

// times multiplies by a factor above 0.
func (q quantity) times(f float64) quantity {
	return quantity{verdict.Interval{Value: q.Value * f, Low: q.Low * f, High: q.High * f}, q.known}
}

// dollars prints an amount of USD.
func dollars(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	x = tiesUp(x)
	switch {
	case x >= 99.995:
		return sign + integer(int64(math.Round(x)))
	case x >= 0.9995 || x == 0:
		return sign + fmt.Sprintf("%.2f", x)
	case x < 0.0005:
		return "0.000"
	}
	return sign + fmt.Sprintf("%.3f", x)
}
