package route

import (
	"slices"
	"strings"
	"testing"

	"postage/internal/verdict"
	"postage/record"
	"postage/stage/encode"
	"postage/stage/store"
)

// What the store has wrong is found: a row that is missing, one too many, and a value in any column
// or field.
func TestWrongRowsAreFound(t *testing.T) {
	orders, err := encode.OpenOrders("codec=json", 1)
	if err != nil {
		t.Fatal(err)
	}
	var rows []store.Row
	for i := range orders.Len() {
		data, err := orders.Encode(i)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowOf(orders.Fields(i), slices.Clone(data)))
	}
	if err := sameOrders(orders, rows, orders.Len()); err != nil {
		t.Fatal(err)
	}
	if err := sameOrders(orders, rows[1:], orders.Len()); err == nil {
		t.Error("a row that is missing is not found")
	}
	for name, spoil := range map[string]func(*store.Row){
		"a key":       func(r *store.Row) { r.ID++ },
		"a reference": func(r *store.Row) { r.Text += "x" },
		"a time":      func(r *store.Row) { r.A++ },
		"a total":     func(r *store.Row) { r.B-- },
		"a field":     func(r *store.Row) { r.Message = []byte(strings.Replace(string(r.Message), `"gift":`, `"gone":`, 1)) },
		"a message":   func(r *store.Row) { r.Message = rows[1].Message },
		"nothing":     func(r *store.Row) { r.Message = nil },
	} {
		wrong := slices.Clone(rows)
		i := slices.IndexFunc(rows, func(r store.Row) bool { return strings.Contains(string(r.Message), `"gift":true`) })
		spoil(&wrong[i])
		if err := sameOrders(orders, wrong, orders.Len()); err == nil {
			t.Errorf("%s that is wrong is not found", name)
		}
	}
}

// A receipt for other orders is not taken, in any codec.
func TestWrongReceiptsAreFound(t *testing.T) {
	for _, w := range append(changes(1), usual(1)) {
		w := w.in(usual(1))
		c, err := newClient(w, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := c.orders.EncodeReceipt(12345, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.check(receipt, 12345); err != nil {
			t.Errorf("%s: %v", w.Codec, err)
		}
		if err := c.check(receipt, 12346); err == nil {
			t.Errorf("%s: a receipt for other orders is taken", w.Codec)
		}
	}
}

// A body with an order too few, too many or cut off is refused.
func TestWrongRequestsAreFound(t *testing.T) {
	w := usual(100)
	c, err := newClient(w, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReceiver(w, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := c.request()
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string][]byte{"cut off": body[:len(body)-1], "empty": nil, "too long": append(slices.Clone(body), 0, 0, 0, 0)} {
		if _, err := r.decode(wrong); err == nil {
			t.Errorf("a request that is %s is not refused", name)
		}
	}
}

// What is said of a case is what its blocks have: the parts of the whole, the rest, and what a row
// saves in the whole and by its parts.
func TestSays(t *testing.T) {
	const name, blocks, n = "Route/msgs=1/peer=sink", 8, 10
	base, change := usual(1), way{Codec: "codec=pbfast"}
	rec := &record.Record{}
	us := map[string]float64{base.name(): 100, change.name(): 80}
	for step, cost := range map[step][2]float64{stepEncode: {10, 5}, stepTransport: {20, 20}, stepDecode: {15, 5}, stepStore: {45, 45}} {
		us[base.part(step)], us[change.in(base).part(step)] = cost[0], cost[1]
	}
	for contender := range us {
		rec.Rows = append(rec.Rows, record.Row{Name: name + "/" + contender, Case: name, Contender: contender, Stage: "route", N: n, Proof: record.ProofOK})
	}
	for b := range blocks {
		block := record.Block{Case: name, Number: b + 1}
		for contender, cost := range us {
			// A quarter is the server's.
			ns := cost * 1e3 * n
			block.Series = append(block.Series, record.Series{Row: name + "/" + contender, CPUNS: []int64{int64(0.7 * ns), int64(0.8 * ns)},
				Counters: map[string][]float64{record.ServerCPU: {0.25 * ns, 0.25 * ns}}})
		}
		rec.Blocks = append(rec.Blocks, block)
	}
	got := says(rec, &verdict.CaseResult{Name: name})
	want := []string{
		"An order's way costs 100 µs of CPU at both ends: store 45%, transport 20%, decode 15%, encode 10%, and 10.0% (10.0 to 10.0) that is in no part alone.",
		"codec=pbfast saves 20.0% (20.0 to 20.0); its parts alone foretell 15.0%.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
