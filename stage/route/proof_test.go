package route

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// What the store has wrong is found: a row that is missing, one too many, and a value in any column
// or field.
func TestWrongRowsAreFound(t *testing.T) {
	orders, err := ofOrders.Open("codec=json", "bytea", 1)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	for i := range orders.Len() {
		data, err := orders.Encode(i)
		if err != nil {
			t.Fatal(err)
		}
		row := make([]any, len(orders.Types()))
		if _, err := orders.Decode(i, slices.Clone(data), row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := sameMessages(orders, rows, orders.Len()); err != nil {
		t.Fatal(err)
	}
	if err := sameMessages(orders, rows[1:], orders.Len()); err == nil {
		t.Error("a row that is missing is not found")
	}
	gift := slices.IndexFunc(rows, func(row []any) bool { return bytes.Contains(row[4].([]byte), []byte(`"gift":true`)) })
	for name, spoilt := range map[string]struct {
		column int
		value  any
	}{
		"a key":       {0, rows[gift][0].(int64) + 1},
		"a reference": {1, "x"},
		"a time":      {2, rows[gift][2].(int64) + 1},
		"a total":     {3, rows[gift][3].(int64) - 1},
		"a field":     {4, bytes.Replace(rows[gift][4].([]byte), []byte(`"gift":`), []byte(`"gone":`), 1)},
		"a message":   {4, rows[gift+1][4]},
		"nothing":     {4, nil},
	} {
		wrong := slices.Clone(rows)
		wrong[gift] = slices.Clone(rows[gift])
		wrong[gift][spoilt.column] = spoilt.value
		if err := sameMessages(orders, wrong, orders.Len()); err == nil {
			t.Errorf("%s that is wrong is not found", name)
		}
	}
}

// A receipt for other orders is not taken, in any codec.
func TestWrongReceiptsAreFound(t *testing.T) {
	for _, w := range append(ofOrders.changes(1), ofOrders.usual(1)) {
		w := w.in(ofOrders.usual(1))
		c, err := newEnd(ofOrders.Traffic, work{Way: w, Msgs: 1, Seed: 1, Live: w.steps()})
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := c.messages.EncodeReceipt(12345, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.messages.CheckReceipt(receipt, 12345, 1); err != nil {
			t.Errorf("%s: %v", w.Codec, err)
		}
		if err := c.messages.CheckReceipt(receipt, 12346, 1); err == nil {
			t.Errorf("%s: a receipt for other orders is taken", w.Codec)
		}
	}
}

// A body with an order too few, too many or cut off is refused.
func TestWrongRequestsAreFound(t *testing.T) {
	w := ofOrders.usual(100)
	e, err := newEnd(ofOrders.Traffic, work{Way: w, Msgs: 100, Seed: 1, Live: w.steps()})
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := e.encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string][]byte{"cut off": body[:len(body)-1], "empty": nil, "too long": append(slices.Clone(body), 0, 0, 0, 0)} {
		if _, err := e.decode(wrong); err == nil {
			t.Errorf("a request that is %s is not refused", name)
		}
	}
}

// recordOf is a record of a case whose rows took these µs of CPU time in each of the blocks. A
// quarter is the server's.
func recordOf(name string, baseline string, blocks ...map[string]float64) *record.Record {
	const n = 10
	rec := &record.Record{}
	for contender := range blocks[0] {
		role := map[string]record.Role{baseline: record.RoleBaseline, "codec=control": record.RoleControl}[contender]
		rec.Rows = append(rec.Rows, record.Row{Name: name + "/" + contender, Case: name, Contender: contender, Role: role, Stage: "route", N: n, Proof: record.ProofOK})
	}
	for b, us := range blocks {
		block := record.Block{Case: name, Number: b + 1}
		for contender, cost := range us {
			ns := cost * 1e3 * n
			block.Series = append(block.Series, record.Series{Row: name + "/" + contender, CPUNS: []int64{int64(0.7 * ns), int64(0.8 * ns)},
				Counters: map[string][]float64{record.ServerCPU: {0.25 * ns, 0.25 * ns}}})
		}
		rec.Blocks = append(rec.Blocks, block)
	}
	return rec
}

// What is said of a case is what its blocks have: the parts of the whole, the rest, and what a row
// saves in the whole and by its parts.
func TestSays(t *testing.T) {
	const name, blocks = "Route/msgs=1/peer=sink", 8
	base, change := ofOrders.usual(1), way{Codec: "codec=pbfast"}
	us := map[string]float64{base.name(): 110, "codec=control": 90, change.name(): 80}
	for step, cost := range map[step][2]float64{stepEncode: {30, 25}, stepTransport: {20, 20}, stepDecode: {35, 25}, stepStore: {65, 65}} { // on a transport of 20
		us[base.part(step)], us[change.in(base).part(step)] = cost[0], cost[1]
	}
	rec := recordOf(name, base.name(), slices.Repeat([]map[string]float64{us}, blocks)...)
	got := ofOrders.says(rec, &verdict.CaseResult{Name: name})
	want := []string{
		"An order's way costs 100 µs of CPU: store 45%, transport 20%, decode 15%, encode 10%, together 90% (90 to 90).",
		"pbfast for json saves 20% (20 to 20; 15%).",
		"In brackets: the 95% interval; and what the row's parts alone foretell.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Of a row that the table calls undecided it says nothing, nor of one that may save or cost.
	undecided := &verdict.CaseResult{Name: name, Rows: []*verdict.Result{{Row: &record.Row{Contender: change.name()}, Verdict: verdict.Undecided}}}
	if got := ofOrders.says(rec, undecided); len(got) != 1 {
		t.Errorf("of an undecided row it says %q", got)
	}
	worse := maps.Clone(us)
	worse[change.name()] = 130
	if got := ofOrders.says(recordOf(name, base.name(), us, us, worse), &verdict.CaseResult{Name: name}); len(got) != 1 {
		t.Errorf("of a row that saves or costs it says %q", got)
	}
}

// What is said of the parts is what they are together, whatever the blocks are like: a part of
// which it is not sure that it costs anything, even if one block is all there is, is none of them.
func TestSaysWhatCannotBeTold(t *testing.T) {
	const name = "Route/msgs=1/peer=sink"
	base := ofOrders.usual(1)
	us := func(transport, encode, decode, store float64) map[string]float64 {
		return map[string]float64{base.name(): 100, base.part(stepTransport): transport, base.part(stepEncode): transport + encode,
			base.part(stepDecode): transport + decode, base.part(stepStore): transport + store}
	}
	skewed := slices.Repeat([]map[string]float64{us(50, 10, 20, 5), us(50, 30, 20, 5), us(70, 10, 20, 5), us(50, 10, 80, 5)}, 4)
	for _, test := range []struct {
		blocks []map[string]float64
		says   string
	}{
		{[]map[string]float64{us(87, -20, 3, -23)}, "transport 87%, decode 3%, together 90% (no interval yet); encode and store cannot be told from 0."},
		{[]map[string]float64{us(86, -20, 1, 7), us(87, -21, -2, 9), us(88, -19, 4, 8)}, "transport 87%, store 8%, together 95% (91 to 99); encode and decode cannot be told from 0."},
		{[]map[string]float64{us(30, 1, 1, 1), us(-30, -1, -1, -1), us(10, 1, -2, 1)}, "encode and transport and decode and store cannot be told from 0."},
		{skewed, "transport 55%, decode 35%, encode 15%, store 5%, together 110% (98 to 122)."},
		{append(slices.Repeat([]map[string]float64{us(40, 5, 10, 20)}, 15), us(40, 5, 10, 180)), "transport 40%, store 30%, decode 10%, encode 5%, together 85% (64 to 106)."},
		{append(slices.Repeat([]map[string]float64{us(40, 5, 10, 20)}, 15), us(40, 5, 10, -380)), "transport 40%, decode 10%, encode 5%, together 55% (55 to 55); store cannot be told from 0."},
	} {
		got := ofOrders.says(recordOf(name, base.name(), test.blocks...), &verdict.CaseResult{Name: name})
		if want := "An order's way costs 100 µs of CPU: " + test.says; len(got) != 1 || got[0] != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// No percentage is -0.
func TestPercent(t *testing.T) {
	got := share{-0.001, -0.004, 0.002}.percent()
	if got != "0% (0 to 0)" {
		t.Errorf("it says %s", got)
	}
}
