package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/internal/words"
	"postage/record"
)

// result is a column of a case's table.
type result = column[*verdict.Result]

// columnsOf are a case's columns: all, whole, or those for a terminal of 80 columns, which are what
// the verdict rests on. There units are in the head, and so is the key that all names begin with.
func columnsOf(c *verdict.CaseResult, whole bool) []result {
	any := func(has func(*verdict.Result) bool) bool { return slices.ContainsFunc(c.Rows, has) }
	titled := func(short, long string) string {
		if whole {
			return long
		}
		return short
	}
	ns := func(r *verdict.Result) float64 { return r.NSOp.Value }
	value := func(i verdict.Interval) string { return ratio(i.Value) }
	bytes := func(r *verdict.Result) float64 { return float64(*r.BytesOp) }
	per, unit := inUnits(c, whole, ns, "ns", "µs", "ms", "s")
	perByte, byteUnit := inUnits(c, whole, bytes, "B", "kB", "MB", "GB")
	quantity, ofCost := titled("time ", ""), any(func(r *verdict.Result) bool { return r.Row.Value == record.ValueCost })
	if ofCost {
		quantity = "cost "
	}
	key := titled(firstKey(c), "")
	columns := []result{
		texts(strings.TrimSuffix(key, "="), func(r *verdict.Result) string { return strings.TrimPrefix(r.Row.Contender, key) }),
		figures(quantity+unit+titled("", "/op"), func(r *verdict.Result) string { return grouped(ns(r) / per) }),
		figures(titled("±%", "±"), func(r *verdict.Result) string {
			return titled(strings.Trim(plusMinus(r.NSOp), "±%"), plusMinus(r.NSOp))
		}).when(lastly),
		figures(titled("ratio (95%)", "ratio (95% interval)"), func(r *verdict.Result) string { return ratioText(r, whole) }),
	}
	add := func(c result, keep kept) { columns = append(columns, c.when(keep)) }
	packed := c.Rows[0].Metrics[record.PackedBytes] > 0
	unless := func(keep kept) kept { // what there is room for beside the bandwidth below which it pays
		if packed {
			return ifWide
		}
		return keep
	}
	add(texts("verdict", verdictText), always)
	add(figures(titled("×floor", "× floor"), func(r *verdict.Result) string { return known(r.FloorRatio, value) }), unless(always))
	add(figures(byteUnit+"/op", func(r *verdict.Result) string { return figure(bytes(r) / perByte) }), unless(lastly))
	add(figures(titled("allocs", "allocs/op"), func(r *verdict.Result) string { return words.Integer(*r.AllocsOp) }), unless(lastly))
	wall := figures("wall "+unit+titled("", "/op"), func(r *verdict.Result) string {
		if r.Wall == nil {
			return ""
		}
		return grouped(r.WallOp.Value / per)
	})
	if any(func(r *verdict.Result) bool { return r.Wall != nil }) {
		add(wall, unless(ifRoom))
	}
	if any(func(r *verdict.Result) bool { return r.InstructionsOp != nil }) {
		add(figures("instr/op", instructionsText), ifWide)
	}
	return append(columns, metricColumns(c, ofCost)...)
}

func instructionsText(r *verdict.Result) string {
	return known(r.InstructionsOp, func(i verdict.Interval) string { return grouped(i.Value) + " " + plusMinus(&i) })
}

func ratioText(r *verdict.Result, whole bool) string {
	switch {
	case r.Ratio == nil:
		return "1"
	case whole:
		return RatioText(r.Ratio.Interval)
	case r.Row.Role == record.RoleFloor: // it is no choice: nobody needs its interval
		return ratio(r.Ratio.Value)
	}
	return shortRatio(r.Ratio.Interval)
}

// inUnits are what to divide a figure of a case's rows by, and its unit, so that the largest has at
// most six digits; the first one for whole figures.
func inUnits(c *verdict.CaseResult, whole bool, of func(*verdict.Result) float64, units ...string) (per float64, unit string) {
	largest := 0.0
	for _, r := range c.Rows {
		if r.NSOp != nil && r != c.Control && !whole {
			largest = max(largest, of(r))
		}
	}
	per = 1
	for len(units) > 1 && largest/per >= 999_999.5 {
		per, units = per*1e3, units[1:]
	}
	return per, units[0]
}

// firstKey is the key, with "=", that the names of a case's baseline and of most of its contenders
// begin with; "" if there is none.
func firstKey(c *verdict.CaseResult) string {
	if c.Baseline == nil {
		return ""
	}
	key, _, ok := strings.Cut(c.Baseline.Row.Contender, "=")
	if !ok || strings.Contains(key, "/") {
		return ""
	}
	return key + "="
}

func verdictText(r *verdict.Result) string {
	if r.Ratio == nil && r.Row.Role != record.RoleFloor && r.Row.Role != record.RoleBaseline {
		return ""
	}
	return verdictClass(r)
}

// metricColumns are a case's other figures.
func metricColumns(c *verdict.CaseResult, ofCost bool) (columns []result) {
	units := map[string]bool{}
	for _, r := range c.Rows {
		for unit := range r.Metrics {
			units[unit] = true
		}
	}
	// perSecond is how much of a metric an operation makes in its time.
	perSecond := func(unit string, scale float64) func(*verdict.Result) string {
		return func(r *verdict.Result) string {
			n, ok := r.Metrics[unit]
			if !ok || r.NSOp == nil {
				return "n/a"
			}
			return grouped(n / r.NSOp.Value * scale)
		}
	}
	if units[record.EncodedBytes] {
		columns = append(columns, figures("encoded bytes", metric(record.EncodedBytes)).when(ifWide), figures("MB/s", perSecond(record.EncodedBytes, 1e3)).when(ifWide))
	}
	if units[record.PackedBytes] {
		columns = append(columns, figures("packed bytes", metric(record.PackedBytes)),
			figures("pays below Mbit/s", func(r *verdict.Result) string { return paysText(c, r) }))
	}
	if units[record.RowsWritten] {
		columns = append(columns, figures("rows/s", perSecond(record.RowsWritten, 1e9)).when(ifWide))
	}
	for _, unit := range []string{record.EncodedBytes, record.PackedBytes, record.RowsWritten} {
		delete(units, unit)
	}
	if ofCost {
		delete(units, record.ClientCPU) // it is the cost
	}
	// In order of the alphabet, but the maximum behind the percentiles.
	key := func(unit string) string { return strings.Replace(unit, "max-ns", "p~", 1) }
	for _, unit := range slices.SortedFunc(maps.Keys(units), func(a, b string) int { return strings.Compare(key(a), key(b)) }) {
		title := unit
		if unit == record.ClientCPU {
			title = cpuTitle
		}
		columns = append(columns, figures(title, metric(unit)).when(ifWide))
	}
	return columns
}

// cpuTitle is the title of the CPU time of a contender's process. In the order of the alphabet, of
// the figures that only some stages have, it is the first.
const cpuTitle = "cpu ns/op"

// paysText is the bandwidth below which a row of packed messages pays.
func paysText(c *verdict.CaseResult, r *verdict.Result) string {
	below, ok := paysBelow(c, r)
	switch {
	case !ok && r == c.Baseline:
		return ""
	case !ok:
		return "n/a"
	case below.Value == 0:
		return "never"
	case !r.Ratio.Bounded():
		return grouped(below.Value) + " (no interval)"
	case math.IsInf(below.Low, 1):
		return "always"
	case math.IsInf(below.High, 1):
		return fmt.Sprintf("at least %s", grouped(below.Low))
	}
	return fmt.Sprintf("%s (%s to %s)", grouped(below.Value), grouped(below.Low), grouped(below.High))
}

func metric(unit string) func(*verdict.Result) string {
	return func(r *verdict.Result) string {
		value, ok := r.Metrics[unit]
		if !ok {
			return "n/a"
		}
		return figure(value)
	}
}
