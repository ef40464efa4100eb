package pbfast_test

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"postage/pbfast"
)

// Varints of every length, whole, cut, too long and longer than they need be, at every distance from the end of the input.
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
			got, i := pbfast.Varint(p[:end], 1)
			if (n < 0) != (i < 0) || n >= 0 && (got != want || i != 1+n) {
				t.Fatalf("%x: %d up to %d, protowire has %d up to %d", p[1:end], got, i, want, 1+n)
			}
		}
	}
}
