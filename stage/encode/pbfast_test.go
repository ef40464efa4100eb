package encode

import (
	"math/rand/v2"
	"testing"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pbhook"
	"postage/stage/encode/internal/plain"
)

// pbfast allocates only a few times to decode a message, whatever the message has: for the message,
// the copy of the input, each optional value, twice for each map and each list of messages, and
// once for each other list.
func TestPbfastAllocations(t *testing.T) {
	if racing {
		t.Skip("the race detector allocates too")
	}
	allocations(t, "tiny", bind.Tiny().Hooked, drawTiny(rand.New(rand.NewPCG(1, 0))), (*pbhook.Tiny).MarshalAppend, (*pbhook.Tiny).Unmarshal, 1)
	allocations(t, "benchmark", bind.Benchmark().Hooked, drawBenchmark(nil), (*pbhook.Benchmark).MarshalAppend, (*pbhook.Benchmark).Unmarshal, 7)
	order := drawOrder(rand.New(rand.NewPCG(1, 0)))
	order.BillTo, order.Coupon, order.Customer.Phone = &plain.Address{City: "Bern"}, new("ten"), new("117")
	allocations(t, "order", bind.Order().Hooked, order, (*pbhook.Order).MarshalAppend, (*pbhook.Order).Unmarshal, 10)

	m := drawBenchmark(nil)
	data, err := bind.Benchmark().Hooked.From(&m).MarshalAppend(nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := new(pbhook.Benchmark)
	if n := testing.AllocsPerRun(100, func() {
		if err := kept.UnmarshalReuse(data); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("benchmark, kept: %v allocations, want none", n)
	}
}

func allocations[M, V any](t *testing.T, name string, form bind.Form[M, V], m M, marshal func(*V, []byte) ([]byte, error), unmarshal func(*V, []byte) error, want float64) {
	t.Helper()
	value := form.From(&m)
	data, err := marshal(value, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := unmarshal(new(V), data); err != nil {
			t.Fatal(err)
		}
	}); n != want {
		t.Errorf("%s: decoding allocates %v times, want %v", name, n, want)
	}
	if n := testing.AllocsPerRun(100, func() { data, err = marshal(value, data[:0]) }); n != 0 || err != nil {
		t.Errorf("%s: encoding into a kept buffer allocates %v times, want none; %v", name, n, err)
	}
}
