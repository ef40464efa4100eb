package encode

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"postage/stage/encode/internal/plain"
)

// Plain fields have columns, and a value that is wrong in any of them is found.
func TestByField(t *testing.T) {
	l, err := byField[plain.Order]()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"reference", "status", "created_unix_ms", "paid_unix_ms", "coupon", "note", "signature", "gift"}; !slices.Equal(l.names, want) {
		t.Errorf("fields with a column are %v, want %v", l.names, want)
	}
	if want := []string{"int8", "text", "int8", "int8", "int8", "text", "text", "bytea", "bool", "jsonb"}; !slices.Equal(l.types, want) {
		t.Errorf("columns are %v, want %v", l.types, want)
	}
	order, kit := ordersMessage(), kitOfOrder()
	kit.describe(&order)
	m, err := openMail(&order, contenders(kit, &order), "codec=json", 1, l)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]any, len(l.types))
	for i := range m.Len() {
		data, err := m.Encode(i)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Decode(i, data, row); err != nil {
			t.Fatal(err)
		}
		if err := m.Differs(i, row); err != nil {
			t.Fatalf("order %d: %v", i, err)
		}
		for k := 1; k < len(row) && i < 8; k++ {
			wrong := slices.Clone(row)
			wrong[k] = map[string]any{"int8": int64(-7), "text": "x", "bytea": []byte{1}, "bool": row[k] != true, "jsonb": []byte("{}")}[l.types[k]]
			if m.Differs(i, wrong) == nil {
				t.Errorf("order %d: column %d is %v instead of %v, which is not found", i, k, wrong[k], row[k])
			}
		}
	}
}

// What has no columns says why.
func TestByFieldNotPossible(t *testing.T) {
	for _, test := range []struct {
		of   func() (layout, error)
		want string
	}{
		{byField[map[string]int], "its JSON is not that of a struct's fields"},
		{byField[time.Time], "its JSON is not that of a struct's fields"},
		{byField[struct{ plain.Money }], "it embeds Money"},
		{byField[struct {
			Large  uint64
			Text   string `json:"-"`
			Number int    `json:",string"`
			Price  json.Number
			_      int
		}], "none of its fields is plain"},
	} {
		if _, err := test.of(); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// A time is the same in the zone of its reader, though before 1900 cities had zones of odd seconds,
// and a time that is not set is of the year 1.
func TestByFieldInAnotherZone(t *testing.T) {
	type stamped struct{ At time.Time }
	l, err := byField[stamped]()
	if err != nil {
		t.Fatal(err)
	}
	var got, want stamped
	row := make([]any, len(l.types))
	if err := l.row(0, &want, nil, row); err != nil {
		t.Fatal(err)
	}
	row[1] = row[1].(time.Time).In(time.FixedZone("LMT", 53*60+28))
	data, err := l.whole(row)
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || !got.At.Equal(want.At) {
		t.Errorf("%v came back as %v, %v", want.At, got.At, err)
	}
}
