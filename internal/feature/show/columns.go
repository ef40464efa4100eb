package show

import (
	"maps"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// result is a column of a case's table.
type result = report.Column[*verdict.Result]

// columnsOf are a case's columns: all of them if whole, otherwise those for 80 columns, on which
// the verdict rests. In 80 columns the head has the units, and the key that all names begin with.
func columnsOf(c *verdict.CaseResult, whole bool) []result {
	any := func(has func(*verdict.Result) bool) bool { return slices.ContainsFunc(c.Rows, has) }
	titled := func(short, long string) string {
		if whole {
			return long
		}
		return short
	}
	ns := func(r *verdict.Result) float64 { return r.NSOp.Value }
	bytes := func(r *verdict.Result) float64 { return float64(*r.BytesOp) }
	per, unit := inUnits(c, whole, ns, "ns", "µs", "ms", "s")
	perByte, byteUnit := inUnits(c, whole, bytes, "B", "kB", "MB", "GB")
	quantity, ofCost := titled("time ", ""), any(func(r *verdict.Result) bool { return r.Row.Value == record.ValueCost })
	if ofCost {
		quantity = "cost "
	}
	key := titled(firstKey(c), "")
	columns := []result{
		report.Texts(titled(strings.TrimSuffix(key, "="), "contender"), func(r *verdict.Result) string { return strings.TrimPrefix(r.Row.Contender, key) }),
		report.Figures(quantity+unit+titled("", "/op"), func(r *verdict.Result) string { return report.Grouped(ns(r) / per) }),
		report.Figures(titled("±%", "±"), func(r *verdict.Result) string {
			return titled(strings.Trim(report.PlusMinus(r.NSOp), "±%"), report.PlusMinus(r.NSOp))
		}).When(report.Lastly),
		report.Figures(titled("ratio (95%)", "ratio (95% interval)"), func(r *verdict.Result) string { return ratioText(r, whole) }),
	}
	columns = append(columns, report.Texts("verdict", verdictText),
		report.Figures(titled("×floor", "× floor"), func(r *verdict.Result) string { return report.Known(r.FloorRatio, report.Ratio) }).When(report.Lastly),
		report.Figures(byteUnit+"/op", func(r *verdict.Result) string { return report.Count(bytes(r) / perByte) }).When(report.Lastly),
		report.Figures(titled("allocs", "allocs/op"), func(r *verdict.Result) string { return words.Integer(*r.AllocsOp) }).When(report.Lastly))
	if any(func(r *verdict.Result) bool { return r.Wall != nil }) {
		columns = append(columns, report.Figures("wall "+unit+titled("", "/op"), func(r *verdict.Result) string {
			if r.Wall == nil {
				return ""
			}
			return report.Grouped(r.WallOp.Value / per)
		}).When(report.IfRoom))
	}
	if any(func(r *verdict.Result) bool { return r.InstructionsOp != nil }) {
		columns = append(columns, report.Figures("instr/op", instructionsText).When(report.IfWide))
	}
	return append(columns, metricColumns(c, ofCost)...)
}

func instructionsText(r *verdict.Result) string {
	return report.Known(r.InstructionsOp, func(i verdict.Interval) string { return report.Grouped(i.Value) + " " + report.PlusMinus(&i) })
}

func ratioText(r *verdict.Result, whole bool) string {
	switch {
	case r.Ratio == nil:
		return "1"
	case whole:
		return report.RatioText(*r.Ratio)
	case r.Row.Role == record.RoleFloor: // nobody chooses a floor, or needs its interval
		return report.Ratio(r.Ratio.Value)
	}
	return report.ShortRatio(*r.Ratio)
}

// inUnits finds the unit in which the largest figure of a case's rows has at most six digits, and
// what to divide figures by. If whole, it is the first unit.
func inUnits(c *verdict.CaseResult, whole bool, figure func(*verdict.Result) float64, units ...string) (per float64, unit string) {
	largest := 0.0
	for _, r := range c.Rows {
		if r.NSOp != nil && r != c.Control && !whole {
			largest = max(largest, figure(r))
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

// metricColumns are the columns of a case's metrics, in alphabetical order, except that the maximum
// comes behind the percentiles.
func metricColumns(c *verdict.CaseResult, ofCost bool) (columns []result) {
	units := map[string]bool{}
	for _, r := range c.Rows {
		for unit := range r.Metrics {
			units[unit] = true
		}
	}
	if units[record.PackedBytes] {
		columns = append(columns, report.Figures("packed bytes", metric(record.PackedBytes)),
			report.Figures("pays below Mbit/s", func(r *verdict.Result) string { return paysText(c, r) }))
		delete(units, record.PackedBytes)
	}
	if ofCost {
		delete(units, record.ClientCPU) // it is the cost
	}
	key := func(unit string) string { return strings.Replace(unit, "max-ns", "p~", 1) }
	for _, unit := range slices.SortedFunc(maps.Keys(units), func(a, b string) int { return strings.Compare(key(a), key(b)) }) {
		title := unit
		if unit == record.ClientCPU {
			title = cpuTitle
		}
		columns = append(columns, report.Figures(title, metric(unit)).When(report.IfWide))
	}
	return columns
}

// cpuTitle is the title of the CPU time of a contender's process.
const cpuTitle = "cpu ns/op"

func metric(unit string) func(*verdict.Result) string {
	return func(r *verdict.Result) string {
		value, ok := r.Metrics[unit]
		if !ok {
			return "n/a"
		}
		return report.Count(value)
	}
}
