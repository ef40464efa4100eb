package pbfast_test

import (
	"math/rand/v2"
	"testing"
)

// What protobuf-go accepts is accepted, and means the same.
func FuzzDecode(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for which, subject := range subjects {
		for range 8 {
			m := fresh(subject)
			fill(rnd, m.ProtoReflect(), 2)
			data, err := theirBytes(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(which), data)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		compare(t, subjects[int(which)%len(subjects)], nil, nil, data)
	})
}
