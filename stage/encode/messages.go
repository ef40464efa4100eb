package encode

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"postage/lab"
	"postage/stage/encode/codegen"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/plain"
)

// Suite returns the stage's cases.
func Suite() lab.Suite {
	suite := lab.Suite{Stage: "encode", Doc: "Struct to bytes and back: which codec?", Figures: figures(), Bring: codegen.Bring, Choose: leavePacked}
	page := message[plain.Benchmark]{
		name: "benchmark", doc: "the published page's message of strings, bytes, a map and ten parts",
		ops: []op{opEncode, opDecode, opReuse}, draw: drawBenchmark, count: 1,
	}
	suite.Cases = append(suite.Cases, cases(kitOfBenchmark(), page, polyglotGo(bind.Benchmark().Polyglot))...)
	suite.Cases = append(suite.Cases, validateCase(page))
	suite.Cases = append(suite.Cases, cases(kitOfTiny(), message[plain.Tiny]{
		name: "tiny", doc: "three scalars",
		ops: []op{opEncode, opDecode}, draw: drawTiny, count: 256, scalar: true,
	})...)
	suite.Cases = append(suite.Cases, cases(kitOfOrder(), ordersMessage())...)
	suite.Cases = append(suite.Cases, cases(kitOfMetrics(), message[plain.Metrics]{
		name: "metrics", doc: "a thousand samples in two packed columns",
		ops: []op{opEncode, opDecode, opReuse, opPack}, draw: drawMetrics, count: 256,
	})...)
	suite.Cases = append(suite.Cases, cases(kitOfBlob(), message[plain.Blob]{
		name: "blob", doc: "64 KiB of bytes",
		ops: []op{opEncode, opDecode}, draw: drawBlob, count: 256,
	})...)
	suite.Cases = append(suite.Cases, publishedSuite()...)
	return suite
}

func ordersMessage() message[plain.Order] {
	return message[plain.Order]{
		name: "order", doc: "a business document of one to two kilobytes",
		ops: []op{opEncode, opDecode, opSome, opReuse, opPack}, draw: drawOrder, count: 256, headline: true,
		edges: orderEdges, text: orderText,
	}
}

const repeatedText = "Hello Embedded World %d!"

// drawBenchmark returns the published page's only value. Nothing in it is drawn.
func drawBenchmark(*rand.Rand) plain.Benchmark {
	const hello = "Hello, World!"
	m := plain.Benchmark{
		Message:     hello,
		Embedded:    plain.EmbeddedMessage{EmbeddedData: []byte(hello)},
		EmbeddedMap: plain.Map{BuiltMap: map[string]float64{hello: 1, "Hello Other World!": 2}},
		EnumMessage: plain.EnumMessage{Message: "ENUM MESSAGE", Embedded: plain.EmbeddedEnumZero},
	}
	for i := range 10 {
		data := fmt.Appendf(nil, repeatedText, i)
		m.Repeated = append(m.Repeated, plain.EmbeddedMessage{EmbeddedData: data})
	}
	return m
}

func drawTiny(rnd *rand.Rand) plain.Tiny {
	return plain.Tiny{
		Serial: 1 + rnd.Uint64N(1<<40),
		Value:  rnd.NormFloat64() * 1000,
		Valid:  rnd.IntN(4) > 0,
	}
}

// Drawn optional values are never zero, because gob does not distinguish a pointer to zero from no
// pointer.
func drawOrder(rnd *rand.Rand) plain.Order {
	created := 1_700_000_000_000 + rnd.Int64N(1<<36)
	currency := pick(rnd, "EUR", "USD", "JPY", "CHF")
	m := plain.Order{
		Serial:        1 + rnd.Uint64N(1<<36),
		Reference:     fmt.Sprintf("ORD-%08X", rnd.Uint32()),
		Status:        plain.OrderStatus(1 + rnd.IntN(4)),
		CreatedUnixMs: created,
		Customer: plain.Customer{
			Serial:   1 + rnd.Uint64N(1<<30),
			Name:     pick(rnd, "Ada Lovelace", "Zoë Åström", "Łukasz Żak", "Nguyễn Thị Minh", "山田 太郎", "Søren O'Neill"),
			Email:    fmt.Sprintf("customer.%d@example.com", rnd.IntN(1_000_000)),
			Verified: rnd.IntN(2) == 0,
		},
		ShipTo: drawAddress(rnd),
		Total:  plain.Money{Currency: currency},
		Labels: map[string]string{
			"channel":     pick(rnd, "web", "app", "phone"),
			"campaign":    words(rnd, 2),
			"cost-centre": fmt.Sprint(1000 + rnd.IntN(9000)),
			"region":      pick(rnd, "emea", "apac", "amer"),
		},
		Note:      words(rnd, 30+rnd.IntN(30)),
		Tags:      []string{words(rnd, 1), words(rnd, 1), words(rnd, 1)},
		Signature: random(rnd, 64),
		Gift:      rnd.IntN(5) == 0,
	}
	if rnd.IntN(4) > 0 {
		m.PaidUnixMs = new(created + rnd.Int64N(1<<28) + 1)
	}
	if rnd.IntN(2) == 0 {
		m.Customer.Phone = new(fmt.Sprintf("+49 30 %07d", rnd.IntN(10_000_000)))
	}
	if rnd.IntN(3) == 0 {
		m.BillTo = new(drawAddress(rnd))
	}
	if rnd.IntN(3) == 0 {
		m.Coupon = new("SAVE" + fmt.Sprint(5+rnd.IntN(40)))
	}
	for range 8 {
		item := plain.LineItem{
			Sku:       fmt.Sprintf("%06X-%03d", rnd.IntN(1<<24), rnd.IntN(1000)),
			Title:     words(rnd, 3+rnd.IntN(4)),
			Quantity:  1 + rnd.Uint32N(12),
			UnitPrice: plain.Money{Currency: currency, MinorUnits: 50 + rnd.Int64N(500_000)},
			TaxRate:   pick(rnd, 0, 0.07, 0.19, 0.081),
		}
		if rnd.IntN(4) == 0 {
			item.DiscountPercent = new(5 + rnd.Int32N(30))
		}
		m.Total.MinorUnits += int64(item.Quantity) * item.UnitPrice.MinorUnits
		m.Items = append(m.Items, item)
	}
	return m
}

func drawAddress(rnd *rand.Rand) plain.Address {
	return plain.Address{
		Street:     fmt.Sprintf("%s %d", pick(rnd, "Main Street", "Straße des 17. Juni", "rue de l'Église", "桜通り"), 1+rnd.IntN(200)),
		City:       pick(rnd, "Berlin", "Zürich", "Kraków", "大阪市", "São Paulo"),
		PostalCode: fmt.Sprintf("%05d", rnd.IntN(100_000)),
		Country:    pick(rnd, "DE", "CH", "PL", "JP", "BR"),
	}
}

// drawMetrics draws a series with a sample about every ten seconds and a wandering value.
func drawMetrics(rnd *rand.Rand) plain.Metrics {
	const samples = 1000
	m := plain.Metrics{
		Series: fmt.Sprintf(`http_request_seconds_sum{instance="10.0.%d.%d:9090",code="200"}`, rnd.IntN(256), rnd.IntN(256)),
		UnixMs: make([]int64, samples),
		Values: make([]float64, samples),
	}
	at, value := 1_700_000_000_000+rnd.Int64N(1<<36), rnd.Float64()*1000
	for i := range samples {
		at += 9_990 + rnd.Int64N(20)
		value += rnd.NormFloat64()
		m.UnixMs[i], m.Values[i] = at, value
	}
	return m
}

func drawBlob(rnd *rand.Rand) plain.Blob { return plain.Blob{Data: random(rnd, 64<<10)} }

// orderEdges returns orders that are ordinary except for one value.
func orderEdges() []edge[plain.Order] {
	plainly := plain.Order{Serial: 1, Items: []plain.LineItem{{Sku: "x", Quantity: 1}}}
	with := func(name string, change func(m *plain.Order)) edge[plain.Order] {
		m := plainly
		m.Items = append([]plain.LineItem(nil), plainly.Items...)
		change(&m)
		return edge[plain.Order]{name, m}
	}
	return []edge[plain.Order]{
		with("-0", func(m *plain.Order) { m.Items[0].TaxRate = math.Copysign(0, -1) }),
		with("NaN", func(m *plain.Order) { m.Items[0].TaxRate = math.NaN() }),
		with("negative int32", func(m *plain.Order) { m.Items[0].DiscountPercent = new(int32(-5)) }),
		with("optional zero", func(m *plain.Order) { m.PaidUnixMs = new(int64(0)) }),
		with("optional empty message", func(m *plain.Order) { m.BillTo = new(plain.Address) }),
		with("largest uint64", func(m *plain.Order) { m.Serial = math.MaxUint64 }),
		with("NUL in text", func(m *plain.Order) { m.Note = "a\x00b" }),
		with("U+E0001 in text", func(m *plain.Order) { m.Note = "a\U000E0001b" }),
	}
}

// orderText returns an order with a text that every format stores unchanged, and that text.
func orderText(text string) (plain.Order, func(*plain.Order) string) {
	return plain.Order{Serial: 1, Note: text}, func(m *plain.Order) string { return m.Note }
}

// random returns n random bytes, n being a multiple of 8.
func random(rnd *rand.Rand, n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rnd.Uint64())
	}
	return b
}

var vocabulary = [...]string{
	"please", "deliver", "after", "noon", "café", "crème", "größe", "naïve", "handle", "with",
	"care", "<b>", "&", "\"quoted\"", "fragile", "日本語", "Ελλάδα", "кофе", "🎁", "winter",
	"cotton", "steel", "oak", "blue", "large", "set", "of", "two", "spare", "parts",
}

// words returns n words, some of them not ASCII.
func words(rnd *rand.Rand, n int) string {
	var b []byte
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, vocabulary[rnd.IntN(len(vocabulary))]...)
	}
	return string(b)
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }
