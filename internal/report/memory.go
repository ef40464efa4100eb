package report

import (
	"cmp"
	"slices"

	"postage/internal/verdict"
	"postage/record"
)

// memory shows what a case's rows allocate an operation and, where that was measured, the
// peak of their resident memory: where the stage wants it, or a row tells its peak. The
// case's table has the same figures.
func memory(with []*verdict.Result, wanted bool) *bars {
	told := slices.ContainsFunc(with, func(r *verdict.Result) bool { _, ok := r.Metrics[record.PeakMemory]; return ok })
	if !told && !wanted {
		return nil
	}
	p := &bars{Title: "Memory", Axis: "bytes", Parts: []string{"allocated on the heap, an operation"}, apart: true}
	if told {
		p.Parts = append(p.Parts, "peak of resident memory, over two operations")
	}
	var all []bar
	for _, r := range with {
		b := bar{label: r.Row.Contender, hint: hintName(r.Row.Contender), parts: []verdict.Quantity{verdict.Exactly(float64(*r.BytesOp))}, text: bytesText(float64(*r.BytesOp))}
		if told {
			peak, ok := r.Metrics[record.PeakMemory]
			q, text := verdict.Quantity{}, "n/a"
			if ok {
				q, text = verdict.Exactly(peak), bytesText(peak)
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
