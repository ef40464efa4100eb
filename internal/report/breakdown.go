package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// breakdowns split what an exchange on a new connection takes into parts, each the
// difference of rows that were measured:
//
//  1. Rows that differ in nothing but TLS and reuse are four corners of a
//     square: the exchange on a kept connection in cleartext, what TLS adds to it, what
//     a new connection adds to it, and the rest, which is the handshake. Where a
//     protocol has no cleartext, the square is a line: exchange, and connection with
//     handshake.
//  2. Rows of a case with floors that connect and shake hands alone are split in that (the
//     floor of the same certificate and resumption) and all else.
//
// Which rows they are is said by their stage, see [verdict.Connecting].
func breakdowns(cases []*caseOfRun) []*bars {
	var all []*bars
	for _, b := range []*bars{breakdownByReuse(cases), breakdownByHandshake(cases)} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// label is what tells a row apart, with its run's name where there are several.
func (c *caseOfRun) label(k record.Keys) string {
	if c.run == "" {
		return k.Join(" ")
	}
	return k.Join(" ") + " (" + c.run + ")"
}

// timeOf is a row's time an operation.
func timeOf(r *verdict.Result) verdict.Quantity {
	if r == nil || r.NSOp == nil {
		return verdict.Quantity{}
	}
	return verdict.QuantityOf(*r.NSOp)
}

// exchange is the four corners of a square, some of which are not measured.
type exchange struct {
	title   string
	corners map[[2]string]*verdict.Result // by tls and reuse: "on" and "yes"
}

func (e *exchange) time(tls, reuse string) verdict.Quantity {
	return timeOf(e.corners[[2]string{tls, reuse}])
}

func breakdownByReuse(cases []*caseOfRun) *bars {
	var order []string
	squares := map[string]*exchange{}
	for _, c := range cases {
		k := record.KeysOf(c.Name)
		keys := c.says.Connecting
		if keys == nil || k.Get(keys.TLS) == "" || k.Get(keys.Reuse) == "" {
			continue
		}
		for _, r := range c.Ways() {
			title := c.label(record.KeysOf(r.Row.Name).Without(keys.TLS, keys.Reuse))
			if squares[title] == nil {
				squares[title] = &exchange{title, map[[2]string]*verdict.Result{}}
				order = append(order, title)
			}
			squares[title].corners[[2]string{k.Get(keys.TLS), k.Get(keys.Reuse)}] = r
		}
	}
	p := &bars{
		Title: "What an exchange on a new TLS connection is made of", Axis: "wall time an exchange",
		Parts: []string{"exchange on a kept connection", "TLS on it", "connecting", "TLS handshake", "connecting and handshake in one"}, TotalTitle: "on a new TLS connection",
		Note: "Each part is a difference of measured rows: the exchange on a kept connection without TLS; what TLS adds to it; what a new connection adds to it; and what is left of an exchange on a new TLS connection, the handshake. Where cleartext was not measured, or does not exist, there are two parts. Intervals of 95% add in quadrature; a part whose interval holds 0 is undecided, and one below 0 shows how far the machine drifted from case to case.",
	}
	var all []bar
	for _, key := range order {
		e := squares[key]
		total, kept := e.time("on", "no"), e.time("on", "yes")
		if !total.Known || !kept.Known {
			continue
		}
		b := bar{label: e.title, total: total, parts: make([]verdict.Quantity, len(p.Parts))}
		raw, connected := e.time("off", "yes"), e.time("off", "no")
		if raw.Known && connected.Known {
			b.parts[0] = raw
			b.parts[1] = kept.Plus(-1, raw)
			b.parts[2] = connected.Plus(-1, raw)
			// The same four rows, each once: the intervals of the parts are not independent.
			b.parts[3] = total.Plus(-1, kept).Plus(-1, connected).Plus(1, raw)
		} else {
			b.parts[0] = kept
			b.parts[4] = total.Plus(-1, kept)
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(a.total.Value, b.total.Value) })
	return p.filled(all)
}

func breakdownByHandshake(cases []*caseOfRun) *bars {
	p := &bars{
		Title: "What the handshake takes of it, by certificate and resumption", Axis: "wall time an exchange",
		Parts: []string{"connecting and handshake alone", "exchange and all else", "QUIC, not split"}, TotalTitle: "on a new TLS connection",
		Note: "Connecting and handshake alone are a row of their own, floor=handshake: connect, shake hands, close. QUIC's handshake is another, and its rows are not split. A part below 0 shows how far the machine drifted within the case.",
	}
	var all []bar
	for _, c := range cases {
		keys := c.says.Connecting
		if keys == nil {
			continue
		}
		// Floors by what they hold fixed: cert=rsa4096.
		floors := map[string]*verdict.Result{}
		for _, r := range c.Rows {
			if k := record.KeysOf(r.Row.Contender); k.Get(keys.Alone.Name) == keys.Alone.Value {
				floors[k.Without(keys.Alone.Name).Join("/")] = r
			}
		}
		if len(floors) == 0 {
			continue
		}
		var group []bar
		for _, r := range c.Ways() {
			if r.NSOp == nil {
				continue
			}
			b := bar{label: c.label(record.KeysOf(r.Row.Contender)), total: timeOf(r), parts: make([]verdict.Quantity, len(p.Parts))}
			if len(floors) == 1 && floors[""] != nil {
				b.label = c.label(append(record.KeysOf(c.Name).Without(keys.TLS, keys.Reuse), record.KeysOf(r.Row.Contender)...))
			}
			for held, floor := range floors {
				if alone := timeOf(floor); !keys.Unlike(r.Row) && alone.Known && record.KeysOf(r.Row.Contender).Hold(record.KeysOf(held)) {
					b.parts[0], b.parts[1] = alone, b.total.Plus(-1, alone)
				}
			}
			if !b.parts[0].Known {
				b.parts[2] = b.total
			}
			group = append(group, b)
		}
		slices.SortStableFunc(group, func(a, b bar) int { return cmp.Compare(a.total.Value, b.total.Value) })
		all = append(all, group...)
	}
	return p.filled(all)
}

// filled is the plot of some bars, nil if there are none. Parts that no bar has are left
// out.
func (p *bars) filled(all []bar) *bars {
	if len(all) == 0 {
		return nil
	}
	for i := len(p.Parts) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(all, func(b bar) bool { return b.parts[i].Known }) {
			p.Parts = slices.Delete(p.Parts, i, i+1)
			for j := range all {
				all[j].parts = slices.Delete(all[j].parts, i, i+1)
			}
		}
	}
	for i := range all {
		b := &all[i]
		lines := []string{b.label}
		for j, q := range b.parts {
			if q.Known {
				lines = append(lines, fmt.Sprintf("%s: %s", p.Parts[j], spanText(q, signedDuration)))
			}
		}
		b.hint = strings.Join(append(lines, p.TotalTitle+": "+spanText(b.total, signedDuration)), "\n")
		b.text = duration(b.total.Value)
	}
	p.place(all, signedDuration)
	return p
}
