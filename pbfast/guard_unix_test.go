//go:build unix

package pbfast_test

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
)

// Input that ends where memory ends is not read beyond: a read there would end the process.
func TestInputEndsAtUnmappedPage(t *testing.T) {
	page := os.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 17*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if err := syscall.Mprotect(memory[16*page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		for _, subject := range subjects {
			m := fresh(subject)
			fill(rnd, m.ProtoReflect(), 2)
			data, err := theirBytes(m)
			if err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(2) == 0 {
				data = damage(rnd, data)
			}
			if len(data) > 16*page {
				continue
			}
			input := memory[16*page-len(data) : 16*page : 16*page]
			copy(input, data)
			for _, decode := range []func(message, []byte) error{
				message.Unmarshal, message.UnmarshalAlias, message.UnmarshalVT,
			} {
				m := fresh(subject)
				if decode(m, input) == nil {
					if _, err := m.MarshalVT(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
