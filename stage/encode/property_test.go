package encode

import (
	"math"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// roundTripper is a codec as these tests see it.
type roundTripper[M any] interface {
	roundTrip(msg *message[M], m *M) (label, difference string, err error)
}

func (c *codec[M, V]) roundTrip(msg *message[M], m *M) (label, difference string, err error) {
	if c.unread || !c.does(opDecode) {
		return c.name, "", nil
	}
	in := &instance[M, V]{codec: c, msg: msg}
	if in.loops, err = c.start(); err != nil {
		return c.name, "", err
	}
	inputs, err := in.encoded([]M{*m})
	if err != nil {
		return c.name, "", err
	}
	r := in.trial([]M{*m}, inputs[0])
	if err := in.loops.decode(r, 1); err != nil {
		return c.name, "", err
	}
	var got M
	if err := c.form.To(r.last, &got); err != nil {
		return c.name, "", err
	}
	difference = msg.diff(&got, m)
	if want, _ := msg.read(m, m); difference == "" && r.sum != want {
		difference = "read another sum"
	}
	return c.name, difference, nil
}

// checkProperty is rapid.Check, except under the race detector, which would find nothing here and
// takes minutes.
func checkProperty(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if racing {
		t.Skip("no goroutines here")
	}
	rapid.Check(t, property)
}

func checkRoundTrips[M any](t *rapid.T, msg *message[M], all []contender[M], m M) {
	for _, c := range all {
		name, difference, err := c.(roundTripper[M]).roundTrip(msg, &m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

// Values that some codec loses, as its row's properties say, are left out.

func anyText() *rapid.Generator[string] {
	return rapid.StringOf(rapid.RuneFrom(nil, unicode.Latin, unicode.Greek, unicode.Han, unicode.Punct, unicode.So, unicode.Cc))
}

func anyDouble() *rapid.Generator[float64] {
	return rapid.Float64().Filter(func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) && x != 0 })
}

func anyBytes() *rapid.Generator[[]byte] { return rapid.SliceOf(rapid.Byte()) }

func anyBenchmark(t *rapid.T) plain.Benchmark {
	m := plain.Benchmark{
		Message:     anyText().Draw(t, "message"),
		Embedded:    plain.EmbeddedMessage{EmbeddedData: anyBytes().Draw(t, "embedded")},
		EmbeddedMap: plain.Map{BuiltMap: rapid.MapOf(anyText(), anyDouble()).Draw(t, "map")},
		EnumMessage: plain.EnumMessage{
			Message:  anyText().Draw(t, "enum message"),
			Embedded: plain.EmbeddedEnum(rapid.IntRange(0, 6).Draw(t, "enum")),
		},
	}
	for _, data := range rapid.SliceOf(anyBytes()).Draw(t, "repeated") {
		m.Repeated = append(m.Repeated, plain.EmbeddedMessage{EmbeddedData: data})
	}
	return m
}

func anyOrder(t *rapid.T) plain.Order {
	m := plain.Order{
		Serial:        rapid.Uint64Max(math.MaxInt64).Draw(t, "serial"),
		Reference:     anyText().Draw(t, "reference"),
		Status:        plain.OrderStatus(rapid.IntRange(0, 4).Draw(t, "status")),
		CreatedUnixMs: rapid.Int64().Draw(t, "created"),
		PaidUnixMs:    optionally(rapid.Int64Min(1)).Draw(t, "paid"),
		Customer: plain.Customer{
			Serial:   rapid.Uint64Max(math.MaxInt64).Draw(t, "customer"),
			Name:     anyText().Draw(t, "name"),
			Phone:    optionally(anyText().Filter(func(s string) bool { return s != "" })).Draw(t, "phone"),
			Verified: rapid.Bool().Draw(t, "verified"),
		},
		ShipTo:    plain.Address{Street: anyText().Draw(t, "street")},
		BillTo:    optionally(rapid.Map(anyText(), func(s string) plain.Address { return plain.Address{City: s} })).Draw(t, "bill to"),
		Total:     plain.Money{MinorUnits: rapid.Int64().Draw(t, "total")},
		Coupon:    optionally(anyText().Filter(func(s string) bool { return s != "" })).Draw(t, "coupon"),
		Labels:    rapid.MapOf(anyText(), anyText()).Draw(t, "labels"),
		Tags:      rapid.SliceOf(anyText()).Draw(t, "tags"),
		Signature: anyBytes().Draw(t, "signature"),
		Gift:      rapid.Bool().Draw(t, "gift"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		m.Items = append(m.Items, plain.LineItem{
			Sku:             anyText().Draw(t, "sku"),
			Quantity:        rapid.Uint32().Draw(t, "quantity"),
			UnitPrice:       plain.Money{Currency: anyText().Draw(t, "currency")},
			TaxRate:         anyDouble().Draw(t, "rate"),
			DiscountPercent: optionally(rapid.Int32Min(1)).Draw(t, "discount"),
		})
	}
	return m
}

func anyMetrics(t *rapid.T) plain.Metrics {
	return plain.Metrics{
		Series: anyText().Draw(t, "series"),
		UnixMs: rapid.SliceOf(rapid.Int64()).Draw(t, "times"),
		Values: rapid.SliceOf(anyDouble()).Draw(t, "values"),
	}
}

func optionally[T any](g *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(g, true) }

func TestBenchmarkRoundTrips(t *testing.T) {
	k := kitOfBenchmark()
	msg := new(message[plain.Benchmark])
	k.describe(msg)
	all := contenders(k, msg)
	checkProperty(t, func(t *rapid.T) { checkRoundTrips(t, msg, all, anyBenchmark(t)) })
}

func TestOrderRoundTrips(t *testing.T) {
	k := kitOfOrder()
	msg := new(message[plain.Order])
	k.describe(msg)
	all := contenders(k, msg)
	checkProperty(t, func(t *rapid.T) { checkRoundTrips(t, msg, all, anyOrder(t)) })
}

func TestMetricsRoundTrips(t *testing.T) {
	k := kitOfMetrics()
	msg := new(message[plain.Metrics])
	k.describe(msg)
	all := contenders(k, msg)
	checkProperty(t, func(t *rapid.T) { checkRoundTrips(t, msg, all, anyMetrics(t)) })
}

// The quick comparison of plain structs agrees with the one that names differences.
func TestSameAgreesWithDiff(t *testing.T) {
	same := bind.Order().Plain.Same
	checkProperty(t, func(t *rapid.T) {
		a, b := anyOrder(t), anyOrder(t)
		if rapid.Bool().Draw(t, "like the other") {
			b = a
			b.Items = append([]plain.LineItem{}, a.Items...)
		}
		if got, _ := same(&a, &b); (got == 1) != (diffOf(&a, &b) == "") {
			t.Errorf("Same is %d, and the difference %q", got, diffOf(&a, &b))
		}
	})
}

// Same notices a change to any field, and differences name it.
func TestOneChangedFieldIsSeen(t *testing.T) {
	k := bind.Order()
	original := orderMessage().corpus(3)[0]
	changes := map[string]func(*plain.Order){
		"Serial":        func(m *plain.Order) { m.Serial++ },
		"Status":        func(m *plain.Order) { m.Status++ },
		"PaidUnixMs":    func(m *plain.Order) { m.PaidUnixMs = new(int64(1)) },
		"Customer.Name": func(m *plain.Order) { m.Customer.Name += "." },
		"BillTo":        func(m *plain.Order) { m.BillTo = &plain.Address{City: "Bern"} },
		"Items":         func(m *plain.Order) { m.Items = m.Items[1:] },
		"Items[0].TaxRate": func(m *plain.Order) {
			m.Items = append([]plain.LineItem(nil), m.Items...)
			m.Items[0].TaxRate = math.NaN()
		},
		"Labels":    func(m *plain.Order) { m.Labels = map[string]string{"a": "b"} },
		"Tags":      func(m *plain.Order) { m.Tags = append(m.Tags, "more") },
		"Signature": func(m *plain.Order) { m.Signature = append([]byte{1}, m.Signature...) },
		"Gift":      func(m *plain.Order) { m.Gift = !m.Gift },
	}
	for field, change := range changes {
		changed := original
		change(&changed)
		if got := differences(k.Plain)(&original, &changed); !strings.HasPrefix(got, "Order."+field) {
			t.Errorf("%s: the difference is %q", field, got)
		}
		if got, _ := k.Plain.Same(&original, &changed); got != 0 {
			t.Errorf("%s: plain Same sees no difference", field)
		}
	}
}
