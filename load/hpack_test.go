package load

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// A header that is called steady leaves the table alone, and one that adds to it is not called
// steady.
func TestSteady(t *testing.T) {
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
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	c := &http2Conn{}
	fields := 0
	c.decoder = hpack.NewDecoder(tableMost, func(f hpack.HeaderField) { fields++; c.field(f) })
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
