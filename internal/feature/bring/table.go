package bring

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// A tableRow is what one codec costs.
type tableRow struct {
	codec          string
	encode, decode *verdict.Result
}

// PrintTable prints what a record says of a brought message, on one screen: for each codec what
// encoding and decoding cost, and the bytes. Then why others have no figures, and what to type next.
func PrintTable(w io.Writer, rec *record.Record, program string, form report.Form) error {
	analysis := verdict.Analyze(rec)
	d := &report.Doc{Form: form}
	var rows []tableRow
	missing := map[string][]string{} // codecs by the reason why they have no figures
	now := ""
	for _, c := range analysis.Cases {
		o := record.KeysOf(c.Name).Get("op")
		if c.Baseline != nil {
			now = cmp.Or(now, c.Baseline.Row.Contender)
		}
		for _, r := range c.Rows {
			if r == c.Control || r.Row.Role == record.RoleFloor || o != "encode" && o != "decode" {
				continue
			}
			codec := strings.TrimSuffix(r.Row.Contender, "/alias=yes")
			if r.NSOp == nil {
				if why := r.Reason(); !slices.Contains(missing[why], record.Short(codec)) {
					missing[why] = append(missing[why], record.Short(codec))
				}
				continue
			}
			i := slices.IndexFunc(rows, func(row tableRow) bool { return row.codec == r.Row.Contender })
			if i < 0 {
				i, rows = len(rows), append(rows, tableRow{codec: r.Row.Contender})
			}
			if o == "encode" {
				rows[i].encode = r
			} else {
				rows[i].decode = r
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b tableRow) int {
		return cmp.Compare(a.cost(), b.cost())
	})
	if rec.Busy() && rec.Machine.Load != nil {
		d.Lines(report.Yellow, "", fmt.Sprintf("This machine was busy, with a load of %.1f: figures are rough.", *rec.Machine.Load), "")
	}
	same := func(r tableRow) bool { return formatOf(r.codec) == formatOf(now) }
	others := slices.DeleteFunc(slices.Clone(rows), same)
	d.Title(fmt.Sprintf("Instead of %s, in ns and as multiples of it:", record.Short(now)))
	report.Table(d, tableColumns(), slices.DeleteFunc(rows, func(r tableRow) bool { return !same(r) }), nil)
	if len(others) > 0 {
		d.Printf("\n")
		d.Title("In other formats:")
		report.Table(d, tableColumns(), others, nil)
	}
	for _, why := range slices.Sorted(maps.Keys(missing)) {
		d.Note(strings.Join(missing[why], ", ") + ": " + why)
	}
	d.Marked("warning:", analysis.Warnings...)
	d.Paragraph("", "Next: postage show, with intervals; "+program+" run op=encode-kept, op=decode-reuse, op=pack or Route.")
	return d.Print(w)
}

// cost is what both ends cost, or the one that was measured.
func (r *tableRow) cost() (ns float64) {
	for _, end := range []*verdict.Result{r.encode, r.decode} {
		if end != nil {
			ns += end.NSOp.Value
		}
	}
	return ns
}

func tableColumns() []report.Column[tableRow] {
	end := func(side func(tableRow) *verdict.Result, text func(*verdict.Result) string) func(tableRow) string {
		return func(row tableRow) string {
			if r := side(row); r != nil {
				return text(r)
			}
			return ""
		}
	}
	encode, decode := func(r tableRow) *verdict.Result { return r.encode }, func(r tableRow) *verdict.Result { return r.decode }
	ns := func(r *verdict.Result) string { return report.Grouped(report.Rounded(r.NSOp.Value, 3)) }
	times := func(r *verdict.Result) string {
		switch {
		case r.Ratio == nil:
			return "1"
		case !r.Ratio.Bounded():
			return report.Ratio(r.Ratio.Value)
		}
		return report.ShortRatio(*r.Ratio)
	}
	return []report.Column[tableRow]{
		report.Texts("codec", func(r tableRow) string { return record.Short(r.codec) }),
		report.Figures("encode", end(encode, ns)),
		report.Figures("×", end(encode, times)),
		report.Figures("decode", end(decode, ns)),
		report.Figures("×", end(decode, times)),
		report.Figures("bytes", end(func(r tableRow) *verdict.Result { return cmp.Or(r.decode, r.encode) }, func(r *verdict.Result) string {
			return fmt.Sprintf("%.0f", r.Metrics[record.EncodedBytes])
		})),
	}
}

// formatOf is the format of a contender's bytes, by its library.
func formatOf(contender string) string {
	library, _, _ := strings.Cut(record.Short(contender), "/")
	switch {
	case strings.Contains(library, "json") || library == "sonic":
		return "JSON"
	case slices.Contains([]string{"vtprotobuf", "pbfast", "easyproto", "hyperpb"}, library):
		return "protobuf"
	case library == "msgp":
		return "msgpack"
	}
	return library
}
