package encode

import (
	"testing"

	"pgregory.net/rapid"

	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pb"
	"postage/stage/encode/internal/plain"
)

func TestHandwrittenAgreesWithProtobuf(t *testing.T) {
	k := bind.Benchmark()
	diff := differences(k.Plain)
	marshal, unmarshal, _ := reference(k.Protobuf)
	checkProperty(t, func(t *rapid.T) {
		m := anyBenchmark(t)
		var got plain.Benchmark
		if err := unmarshal(handFrom(&m).append(nil), &got); err != nil {
			t.Fatalf("protobuf cannot decode it: %v", err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("protobuf decodes it to something else: %s", d)
		}
		owned, err := ownedAppend(nil, &m)
		if err != nil {
			t.Fatal(err)
		}
		got = plain.Benchmark{}
		if err := unmarshal(owned, &got); err != nil {
			t.Fatalf("protobuf cannot decode the owned form: %v", err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("protobuf decodes the owned form to something else: %s", d)
		}
		data, err := marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		got = plain.Benchmark{}
		if err := ownedDecode(&got, data); err != nil {
			t.Fatalf("the owned form cannot decode protobuf's: %v", err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("the owned form decodes protobuf's to something else: %s", d)
		}
		var message pb.Benchmark
		if err := messageDecode(&message, data); err != nil {
			t.Fatalf("into its structs: %v", err)
		}
		got = plain.Benchmark{}
		if err := k.Protobuf.To(&message, &got); err != nil {
			t.Fatal(err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("decodes protobuf's into its structs to something else: %s", d)
		}
		var v handValue
		if err := v.decode(data); err != nil {
			t.Fatalf("cannot decode protobuf's: %v", err)
		}
		if err := handTo(&v, &got); err != nil {
			t.Fatal(err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("decodes protobuf's to something else: %s", d)
		}
	})
}

func TestHandwrittenOrderAgreesWithProtobuf(t *testing.T) {
	k := bind.Order()
	diff := differences(k.Plain)
	marshal, _, _ := reference(k.Protobuf)
	checkProperty(t, func(t *rapid.T) {
		m := anyOrder(t)
		data, err := marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		var message pb.Order
		if err := orderDecode(&message, data); err != nil {
			t.Fatal(err)
		}
		var got plain.Order
		if err := k.Protobuf.To(&message, &got); err != nil {
			t.Fatal(err)
		}
		if d := diff(&got, &m); d != "" {
			t.Fatalf("decodes protobuf's to something else: %s", d)
		}
	})
}

// The decoder accepts what protobuf accepts, and decodes it to the same message.
func FuzzHandwrittenDecode(f *testing.F) {
	k := bind.Benchmark()
	diff := differences(k.Plain)
	marshal, unmarshal, _ := reference(k.Protobuf)
	m := drawBenchmark(nil)
	data, err := marshal(&m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte{})
	f.Add([]byte("\xd0\xd0\xd0\xd00\xd0\xd00")) // a field number out of range
	for _, bad := range damaged(data) {
		f.Add(bad.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want plain.Benchmark
		wantErr := unmarshal(data, &want)
		var v handValue
		gotErr := v.decode(data)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, protobuf has %v", gotErr, wantErr)
		}
		if wantErr != nil {
			return
		}
		var got plain.Benchmark
		if err := handTo(&v, &got); err != nil {
			t.Fatal(err)
		}
		if d := diff(&got, &want); d != "" {
			t.Fatalf("decoded to something else than protobuf: %s", d)
		}
	})
}
