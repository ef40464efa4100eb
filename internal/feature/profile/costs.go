package profile

import (
	"bufio"
	_ "embed"
	"fmt"
	"go/version"
	"io"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

//go:embed costs.txt
var shippedCosts string

// Costs says what contenders cost, case by case.
type Costs struct {
	From  string // "the shipped table"
	cases []costCase
	least int // messages that a prediction needs
	size  float64
}

// With a size, costs are of the messages that have at most sizes times as many bytes, or as few.
const sizes = 6

// shippedLeast is how many messages of the shipped table a prediction needs: none of them is the
// user's, and they say by how much messages differ.
const shippedLeast = 4

// of is the message that a case is about: it may be measured in several ways.
func (c *costCase) of() string {
	for _, way := range []string{"/caches=cold", "/writer=new"} {
		if message, cut := strings.CutSuffix(c.message, way); cut {
			return message
		}
	}
	return c.message
}

// costCase has the rows of one case.
type costCase struct {
	stage, does, message string
	rows                 map[string]figure
}

// figure has an operation's cost in ns, the bytes that it allocates, and the size of what it makes
// or reads, 0 if that is not known. within is half the interval's width as a part of the cost.
type figure struct{ cost, bytes, size, within float64 }

// CostsOf takes costs from a record: from cases that encode, decode, store or serialize for
// Kubernetes. The cost of compression is what it adds to the case without. The cost of storing is
// the client's CPU time.
func CostsOf(rec *record.Record, from string) *Costs {
	c := &Costs{From: from, least: 1}
	for _, result := range verdict.Analyze(rec).Cases {
		keys := record.KeysOf(result.Name)
		one := costCase{stage: strings.ToLower(record.StageOf(result.Name)), does: keys.Get("op"), message: result.Name, rows: map[string]figure{}}
		switch {
		case one.stage == "apply" && keys.Get("serialize") != "":
			one.does = keys.Get("serialize")
		case one.stage != "encode" && one.stage != "store", one.does == "decode-reuse", one.does == "encode-kept", one.does == "validate", one.does == "direct":
			continue
		}
		for _, r := range result.Rows {
			if x, ok := costOf(r, one.does); ok && r != result.Control {
				name := r.Row.Contender
				if name == "codec=json" && onSecond(rec.Machine.Go) {
					name = firstOnSecond
				}
				one.rows[name] = x
			}
		}
		if one.does == "pack" {
			none, ok := one.rows["pack=none"]
			if !ok {
				continue
			}
			for name, x := range one.rows {
				one.rows[name] = figure{max(0, x.cost-none.cost), max(0, x.bytes-none.bytes), x.size, x.within}
			}
		}
		if one.does == "pack" || one.stage == "store" {
			one.does = ""
		}
		c.cases = append(c.cases, one)
	}
	return c
}

// None reports whether there are no costs.
func (c *Costs) None() bool { return len(c.cases) == 0 }

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

// costOf is what a row costs. A service is assumed to call Marshal, which allocates the encoded
// bytes too, where a row encodes into a buffer that it keeps.
func costOf(r *verdict.Result, does string) (x figure, ok bool) {
	if r.NSOp == nil || r.BytesOp == nil {
		return x, false
	}
	x = figure{cost: r.Metrics[record.ClientCPU], bytes: float64(*r.BytesOp), size: r.Metrics[record.EncodedBytes]}
	if packed := r.Metrics[record.PackedBytes]; packed > 0 {
		x.size = packed
	}
	if r.Row.Value == record.ValueCost {
		x.cost = r.NSOp.Value
	}
	if does == "encode" && r.Row.Settings["buffer"] != "fresh" {
		x.bytes += x.size
	}
	if x.within = (r.NSOp.High - r.NSOp.Low) / 2 / r.NSOp.Value; math.IsInf(x.within, 0) {
		x.within = 0.1
	}
	return x, x.cost > 0
}

// ShippedCosts reads the table that comes with Postage. size is how many bytes a message has, 0 if
// that is not known.
func ShippedCosts(size float64) (*Costs, error) {
	c, err := readCosts(strings.NewReader(shippedCosts))
	c.size = size
	return c, err
}

// have reports whether a case has the contender.
func (c *Costs) have(contender string) bool {
	return slices.ContainsFunc(c.cases, func(one costCase) bool { return one.rows[contender].cost > 0 })
}

// sized reports whether the case's message is of the size that is asked for.
func (c *Costs) sized(one *costCase) bool {
	largest := 0.0
	for _, x := range one.rows {
		largest = max(largest, x.size)
	}
	return c.size == 0 || largest == 0 || largest < c.size*sizes && largest*sizes > c.size
}

// readCosts reads lines: stage, "decode", "encode" or "-", message, contender, ns, bytes and size.
func readCosts(r io.Reader) (*Costs, error) {
	c := &Costs{From: "the shipped table", least: shippedLeast}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		one, name, x := costCase{rows: map[string]figure{}}, "", figure{within: 0.02}
		if _, err := fmt.Sscan(lines.Text(), &one.stage, &one.does, &one.message, &name, &x.cost, &x.bytes, &x.size); err != nil {
			return c, fmt.Errorf("costs: %q: %w", lines.Text(), err)
		}
		one.does = strings.TrimPrefix(one.does, "-")
		at := slices.IndexFunc(c.cases, func(x costCase) bool { return x.stage == one.stage && x.does == one.does && x.message == one.message })
		if at < 0 {
			at, c.cases = len(c.cases), append(c.cases, one)
		}
		c.cases[at].rows[name] = x
	}
	return c, lines.Err()
}

// row finds the figure of a contender in the case, or else of the contender without its last
// settings.
func (c *costCase) row(contender string) (figure, bool) {
	for contender != "" {
		if x, ok := c.rows[contender]; ok {
			return x, true
		}
		contender, _, _ = cutLast(contender, "/")
	}
	return figure{}, false
}
