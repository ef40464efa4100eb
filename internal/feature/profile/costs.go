package profile

import (
	"fmt"
	"go/version"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// Costs says what contenders cost on one message, as a record has it.
type Costs struct {
	from    string                       // the record's name
	message string                       // what it calls the message
	rows    map[string]map[string]figure // by "decode" or "encode", and by contender
}

// figure has an operation's cost in ns, the bytes that it allocates, and the encoded size, 0 if that
// is not known. within is half the interval's width as a part of the cost.
type figure struct{ cost, bytes, size, within float64 }

// CostsOf takes the costs of decoding and encoding from a record of one message, as postage bring
// makes it.
func CostsOf(rec *record.Record, from string) (*Costs, error) {
	c := &Costs{from: from, rows: map[string]map[string]figure{"decode": {}, "encode": {}}}
	var messages []string
	for _, result := range verdict.Analyze(rec).Cases {
		keys := record.KeysOf(result.Name)
		rows := c.rows[keys.Get("op")]
		if record.StageOf(result.Name) != "Encode" || rows == nil {
			continue
		}
		if c.message = keys.Get("msg"); !slices.Contains(messages, c.message) {
			messages = append(messages, c.message)
		}
		for _, r := range result.Rows {
			if x, ok := costOf(r); ok && r != result.Control {
				name := r.Row.Contender
				if name == "codec=json" && onSecond(rec.Machine.Go) {
					name = firstOnSecond
				}
				rows[name] = x
			}
		}
	}
	switch len(messages) {
	case 0:
		return nil, fmt.Errorf("%s: it has no rows that encode or decode a message", from)
	case 1:
		return c, nil
	}
	return nil, fmt.Errorf("%s: it has several messages (%s): want a record of one, which is yours", from, strings.Join(messages, ", "))
}

// onSecond reports whether a toolchain, as runtime.Version names it, builds encoding/json on the
// second version's code: from Go 1.27 on, unless GOEXPERIMENT says otherwise.
func onSecond(toolchain string) bool {
	release, experiments, _ := strings.Cut(toolchain, "X:")
	switch all := strings.Split(experiments, ","); {
	case slices.Contains(all, "jsonv2"):
		return true
	case slices.Contains(all, "nojsonv2"):
		return false
	}
	return version.Compare(strings.TrimRight(release, " -"), "go1.27") >= 0
}

// costOf is what a row costs, if it has a figure.
func costOf(r *verdict.Result) (x figure, ok bool) {
	if r.NSOp == nil || r.BytesOp == nil || !(r.NSOp.Value > 0) {
		return x, false
	}
	x = figure{cost: r.NSOp.Value, bytes: float64(*r.BytesOp), size: r.Metrics[record.EncodedBytes]}
	if x.within = (r.NSOp.High - r.NSOp.Low) / 2 / x.cost; math.IsInf(x.within, 0) {
		x.within = 0.1
	}
	return x, true
}
