package webpush

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFIFO compares the queue with a slice.
func TestFIFO(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q fifo
		var model []int64
		next := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			n := rapid.IntRange(1, 2000).Draw(t, "n")
			step := rapid.IntRange(0, 4).Draw(t, "step")
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
	})
}
