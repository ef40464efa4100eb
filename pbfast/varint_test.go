package pbfast_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast/runtime"
)

// Varints of every length, whole, cut, too long and longer than they need be, at every distance
// from the end of the input.
func TestVarint(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 0))
	for range 2000 {
		p := protowire.AppendVarint([]byte{0xff}, rnd.Uint64()>>rnd.IntN(64))
		if rnd.IntN(4) == 0 {
			p[len(p)-1] |= 0x80
		}
		for range rnd.IntN(12) {
			p = append(p, byte(rnd.Uint32())&0x83)
		}
		for end := 1; end <= len(p); end++ {
			want, n := protowire.ConsumeVarint(p[1:end])
			got, i := runtime.Varint(p[:end], 1)
			if (n < 0) != (i < 0) || n >= 0 && (got != want || i != 1+n) {
				t.Fatalf("%x: %d up to %d, protowire has %d up to %d", p[1:end], got, i, want, 1+n)
			}
		}
	}
}

// Text of every length up to 100 bytes, of which any byte may be bad, at the start of the input and
// after bytes that are not ASCII, is what unicode/utf8 says.
func TestText(t *testing.T) {
	for _, mode := range []runtime.Mode{0, runtime.Own} {
		for _, before := range []string{"", "\xff\xff\xff", strings.Repeat("\xff", 40)} {
			for n := range 101 {
				text := []byte(strings.Repeat("abcdefghij", 11)[:n])
				for at := range n + 1 {
					begin := len(before)
					p := append(append([]byte(before), byte(n)), text...)
					if at < n {
						p[begin+1+at] = 0xff
					}
					var d runtime.Decoder
					d.Start(p, mode)
					got, i := d.Text(p, begin)
					if good := at == n; good != (i >= 0) || good && (got != string(text) || i != len(p)) {
						t.Fatalf("%q: %q up to %d", p, got, i)
					}
				}
			}
		}
	}
}

// Packed varints of one length and of several, cut anywhere, are what protowire has.
func TestPackedVarints(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 0))
	for range 2000 {
		var p []byte
		x := rnd.Uint64() >> rnd.IntN(64)
		for range rnd.IntN(20) {
			if rnd.IntN(4) == 0 {
				x = rnd.Uint64() >> rnd.IntN(64)
			}
			p = protowire.AppendVarint(p, x)
		}
		if len(p) > 0 && rnd.IntN(2) == 0 {
			p[rnd.IntN(len(p))] |= 0x80
		}
		p = p[:rnd.IntN(len(p)+1)]
		want, wrong := []uint64{7}, false
		for rest := p; len(rest) > 0 && !wrong; {
			v, n := protowire.ConsumeVarint(rest)
			if wrong = n < 0; !wrong {
				want, rest = append(want, v), rest[n:]
			}
		}
		p = append(protowire.AppendVarint(nil, uint64(len(p))), p...)
		got, end := runtime.AppendVarints([]uint64{7}, p, 0)
		if (end < 0) != wrong || end >= 0 && (end != len(p) || !slices.Equal(got, want)) {
			t.Fatalf("%x: %d up to %d, protowire has %d", p, got, end, want)
		}
	}
}
