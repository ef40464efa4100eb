package load

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// A header that is called steady leaves the table alone, and one that adds to it is not called
// steady.
func TestSteady(t *testing.T) {
	t.Parallel()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	write := func(fields ...hpack.HeaderField) []byte {
		block.Reset()
		for _, f := range fields {
			_ = e.WriteField(f)
		}
		return bytes.Clone(block.Bytes())
	}
	status, kind := hpack.HeaderField{Name: ":status", Value: "200"}, hpack.HeaderField{Name: "content-type", Value: "application/grpc"}
	secret := hpack.HeaderField{Name: "date", Value: string(bytes.Repeat([]byte("x"), 300)), Sensitive: true}
	for i, want := range []bool{false, true, true} {
		if got := steady(write(status, kind)); got != want {
			t.Errorf("%d: steady is %v", i, got)
		}
	}
	if !steady(write(status, secret, hpack.HeaderField{Name: "never-seen", Value: "y", Sensitive: true})) {
		t.Error("literals that are not indexed leave the table as it is")
	}
	e.SetMaxDynamicTableSize(100)
	if steady(write(status)) {
		t.Error("a new size of the table does not")
	}
	if steady(nil) || steady([]byte{0xff}) || steady([]byte{0x00, 0x7f}) {
		t.Error("what is cut off is called steady")
	}
}

// gRPC's headers and trailers alternate, and both are known.
func TestHeadersTakeTurns(t *testing.T) {
	t.Parallel()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	c := &headerDecoder{}
	fields := 0
	c.Decoder = hpack.NewDecoder(tableMost, func(f hpack.HeaderField) { fields++; c.field(f) })
	for i := range 10 {
		for _, f := range []hpack.HeaderField{{Name: "content-type", Value: "application/grpc"}, {Name: "grpc-status", Value: "3"}} {
			block.Reset()
			_ = e.WriteField(f)
			got, err := c.decode(block.Bytes())
			if err != nil || f.Name == "grpc-status" && got.grpc != 3 || f.Name != "grpc-status" && got.kind != "application/grpc" {
				t.Fatalf("%d: %+v, %v", i, got, err)
			}
		}
	}
	if fields != 4 { // each once as a literal, and once as an index
		t.Errorf("%d fields were decoded, want 4", fields)
	}
}

// A header that adds the same fields to the table each time, as nginx's do, is decoded once. Other
// headers find the table as if all headers had been decoded.
func TestHeadersThatAddToTheTable(t *testing.T) {
	t.Parallel()
	adding := func(name byte, value string) []byte { // a literal with indexing
		return append([]byte{0x40, 1, name, byte(len(value))}, value...)
	}
	first := append(adding('a', "1"), adding('b', strings.Repeat("x", 100))...)
	second := adding('c', "2")
	random := rand.New(rand.NewPCG(1, 2))
	decoded := 0
	c := &headerDecoder{}
	c.Decoder = hpack.NewDecoder(tableMost, func(f hpack.HeaderField) { decoded++; c.field(f) })
	all := hpack.NewDecoder(tableMost, nil)
	var got []hpack.HeaderField // by c.Decoder, of the last header
	for i := range 3000 {
		block := first
		switch {
		case i > 1000 && random.IntN(3) == 0:
			block = second
		case i > 1500 && random.IntN(20) == 0: // whatever an index into the table means now
			block = []byte{0x80 | byte(staticMost+1+random.IntN(3))}
		case i > 2500 && random.IntN(50) == 0:
			block = []byte{0x3f, byte(random.IntN(100))} // a size of the table
		}
		if _, err := c.decode(block); err != nil {
			if _, wrong := all.DecodeFull(block); wrong == nil {
				t.Fatalf("%d: %x: %v", i, block, err)
			}
			continue // neither decodes an index beyond the table
		}
		if _, err := all.DecodeFull(block); err != nil {
			t.Fatalf("%d: %x is decoded: %v", i, block, err)
		}
		if i < 1000 && decoded > 2 {
			t.Fatalf("%d: %d fields were decoded", i, decoded)
		}
		// The tables are equal if all their indices mean the same. This also makes up for what was
		// delayed.
		if i%97 != 0 || i < 1000 {
			continue
		}
		for index := byte(staticMost + 1); index < 0x7f; index++ {
			probe := []byte{0x80 | index}
			got = got[:0]
			c.Decoder.SetEmitFunc(func(f hpack.HeaderField) { got = append(got, f) })
			_, err1 := c.decode(probe)
			want, err := all.DecodeFull(probe)
			if (err1 == nil) != (err == nil) {
				t.Fatalf("%d: index %d: %v, want %v", i, index, err1, err)
			}
			if err != nil {
				break
			}
			if len(got) > 0 && got[len(got)-1] != want[0] {
				t.Fatalf("%d: index %d is %v, want %v", i, index, got, want)
			}
		}
	}
}

// It ends for any input, and the decoder takes what it calls steady without a change of its table.
func FuzzSteady(f *testing.F) {
	f.Add([]byte{0x88, 0x5f, 0x01, 'x'})
	f.Add([]byte{0x00, 0x01, 'a', 0x01, 'b'})
	f.Fuzz(func(t *testing.T, block []byte) {
		if !steady(block) {
			return
		}
		var got [2][]hpack.HeaderField
		for i := range got {
			d := hpack.NewDecoder(tableMost, nil)
			if i == 1 { // once more, by a decoder that has had it
				if _, err := d.DecodeFull(block); err != nil {
					return
				}
			}
			fields, err := d.DecodeFull(block)
			if err != nil {
				return
			}
			got[i] = fields
		}
		if len(got[0]) != len(got[1]) {
			t.Errorf("%x is %v and then %v", block, got[0], got[1])
		}
		for i := range got[0] {
			if got[0][i] != got[1][i] {
				t.Errorf("%x is %v and then %v", block, got[0], got[1])
			}
		}
	})
}
