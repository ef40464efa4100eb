package profile

import (
	"fmt"
	"go/version"
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
// is not known. margin is half the interval's width as a part of the cost.
type figure struct{ cost, bytes, size, margin float64 }

// CostsOf takes the costs of decoding and encoding from a record of one message, as postage bring
// makes it.
func CostsOf(rec *record.Record, from string) (*Costs, error) {
	c := &Costs{from: from, rows: map[string]map[string]figure{"decode": {}, "encode": {}}}
	var messages []string
	for _, result := range verdict.Analyze(rec).Cases {
		keys := record.KeysOf(result.Name)
		rows := c.rows[keys.Get("op")]
		if !strings.HasPrefix(result.Name, "Encode/") || rows == nil {
			continue
		}
		for _, r := range result.Rows {
			if r.NSOp == nil || r.BytesOp == nil || !r.NSOp.Bounded() || r == result.Control {
				continue
			}
			name := r.Row.Contender
			if name == "codec=json" && onSecond(rec.Machine.Go) {
				name = firstOnSecond
			}
			rows[name] = figure{r.NSOp.Value, float64(*r.BytesOp), r.Metrics[record.EncodedBytes], (r.NSOp.High - r.NSOp.Low) / 2 / r.NSOp.Value}
			if c.message = keys.Get("msg"); !slices.Contains(messages, c.message) {
				messages = append(messages, c.message)
			}
		}
	}
	switch len(messages) {
	case 0:
		return nil, fmt.Errorf("%s: it has no rows with intervals that encode or decode a message", from)
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
