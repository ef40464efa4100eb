package webpush

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFIFO compares the queue with a slice.
func TestFIFO(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		var q fifo
		var model []int64
		next := int64(0)
		for range r.IntN(41) {
			n := 1 + r.IntN(2000)
			step := r.IntN(5)
			for range n {
				switch {
				case step < 2:
					q = append(q, recipient{index: next})
					model = append(model, next)
					next++
				case len(model) == 0:
				case step == 2:
					if w := q.pop(); w.index != model[0] {
						t.Fatalf("first: %d, want %d", w.index, model[0])
					}
					model = model[1:]
				case step == 3:
					w := q.popAny()
					i := slices.Index(model, w.index)
					if i < 0 {
						t.Fatalf("any: %d, which is not there", w.index)
					}
					model[i] = model[0]
					model = model[1:]
				default:
					if w := q.popLast(); w.index != model[len(model)-1] {
						t.Fatalf("last: %d, want %d", w.index, model[len(model)-1])
					}
					model = model[:len(model)-1]
				}
				if len(q) != len(model) {
					t.Fatalf("%d wait, want %d", len(q), len(model))
				}
			}
		}
		for range model {
			q.pop()
		}
		if q != nil {
			t.Errorf("an empty queue keeps room for %d", cap(q))
		}
	}
}
