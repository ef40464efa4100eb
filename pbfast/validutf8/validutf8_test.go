package validutf8

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func check(t *testing.T, p []byte) {
	t.Helper()
	if got, want := Valid(p), utf8.Valid(p); got != want {
		t.Fatalf("Valid(%q) = %v, unicode/utf8 says %v", p, got, want)
	}
	text := string(p)
	if got, want := String(text), utf8.Valid(p); got != want {
		t.Fatalf("String(%q) = %v, unicode/utf8 says %v", p, got, want)
	}
	if got, want := Mixed(text), utf8.Valid(p); got != want {
		t.Fatalf("Mixed(%q) = %v, unicode/utf8 says %v", p, got, want)
	}
}

// Every sequence of three bytes, and every one of four whose first byte starts a four-byte
// character, at the end of a text and within one.
func TestAllSequences(t *testing.T) {
	pad := []byte("ascii before, ")
	for first := range 256 {
		for second := range 256 {
			if first >= 0xf0 || second%16 == 0 || second == 0x9f || second == 0x8f {
				for third := 0x70; third < 0xd0; third++ {
					for _, fourth := range []byte{0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff} {
						seq := []byte{byte(first), byte(second), byte(third), fourth}
						if Valid(seq) != utf8.Valid(seq) {
							check(t, seq)
						}
					}
				}
			}
			seq := append(pad[:len(pad):len(pad)], byte(first), byte(second))
			check(t, seq)
			check(t, append(seq, "and eight after"...))
			for third := 0; third < 256; third += 3 {
				// With a byte before, since assembly begins at four bytes.
				seq := []byte{'x', byte(first), byte(second), byte(third)}
				if Valid(seq) != utf8.Valid(seq) {
					check(t, seq)
				}
			}
		}
	}
}

// Whole, cut and wrong characters at each place of texts of each length.
func TestEveryPlace(t *testing.T) {
	for _, piece := range []string{
		"é", "日", "🎁", "\xc3", "\xe6\x97", "\xf0\x9f\x8e", "\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
		"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "é\x80", "日\x80", "🎁\x80",
	} {
		for n := range 70 {
			for at := 0; at+len(piece) <= n; at++ {
				for _, around := range []string{"x", "é"} {
					b := []byte(strings.Repeat(around, n)[:n])
					copy(b[at:], piece)
					check(t, b)
				}
			}
		}
	}
}

// Random text, cut and changed at random places, at every alignment.
func TestAgreesWithStandardLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	runes := []rune("aé日🎁\u0000\u07ff\u0800\uffff\U00010000\U0010ffff")
	for range 20_000 {
		var b []byte
		for range rnd.IntN(8 << rnd.IntN(6)) {
			b = utf8.AppendRune(b, runes[rnd.IntN(len(runes))])
		}
		if len(b) > 0 && rnd.IntN(2) == 0 {
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
		}
		check(t, b[:rnd.IntN(len(b)+1)])
		check(t, b)
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte("größe 日本語 \xf0\x9f\x8e"))
	f.Fuzz(func(t *testing.T, p []byte) { check(t, p) })
}

// 281 bytes of mixed text, as in the orders of stage/encode.
var text = []byte(strings.Repeat("please café größe 日本語 Ελλάδα кофе 🎁 winter ", 6)[:281])

func BenchmarkValid(b *testing.B) {
	for range b.N {
		Valid(text)
	}
}

func BenchmarkStandardLibrary(b *testing.B) {
	for range b.N {
		utf8.Valid(text)
	}
}
