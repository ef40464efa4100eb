package report

import (
	"cmp"
	"slices"
	"strings"

	"postage/verdict"
)

// peakMemory is the peak of a row's resident memory in bytes.
const peakMemory = "peak-rss-B"

// memory shows what a case's rows allocate an operation and, where that was measured, the
// peak of their resident memory: in stage store, where messages are megabytes, or wherever
// a row tells its peak. The case's table has the same figures.
func memory(c *verdict.CaseResult, with []*verdict.Result) *bars {
	told := slices.ContainsFunc(with, func(r *verdict.Result) bool { _, ok := r.Metrics[peakMemory]; return ok })
	if !told && !strings.HasPrefix(c.Name, "Store/") {
		return nil
	}
	p := &bars{Title: "Memory", Axis: "bytes", Parts: []string{"allocated on the heap, an operation"}, apart: true}
	if told {
		p.Parts = append(p.Parts, "peak of resident memory, over two operations")
	}
	var all []bar
	for _, r := range with {
		b := bar{label: r.Row.Contender, hint: hintName(r.Row.Contender), parts: []quantity{exactly(float64(*r.BytesOp))}, text: bytesText(float64(*r.BytesOp))}
		if told {
			peak, ok := r.Metrics[peakMemory]
			q, text := quantity{}, "n/a"
			if ok {
				q, text = exactly(peak), bytesText(peak)
			}
			b.parts = append(b.parts, q)
			b.text += ", peak " + text
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(a.parts[0].Value, b.parts[0].Value) })
	p.place(all, bytesText)
	return p
}

// bytesText prints bytes in the unit that suits them, powers of ten.
func bytesText(n float64) string {
	for _, unit := range []struct {
		name string
		n    float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= unit.n {
			return brief(n/unit.n) + " " + unit.name
		}
	}
	return brief(n) + " B"
}
