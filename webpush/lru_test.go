package webpush

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLRU compares the cache with a list that is searched from end to end.
func TestLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(1, 5).Draw(t, "capacity")
		c := newLRU[int, int](capacity)
		type entry struct{ key, value int }
		var model []entry // newest last
		find := func(key int) int { return slices.IndexFunc(model, func(e entry) bool { return e.key == key }) }
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := rapid.IntRange(0, 7).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				value, ok := c.get(key)
				i := find(key)
				if ok != (i >= 0) || (ok && value != model[i].value) {
					t.Fatalf("get %d: %d, %v; model %v", key, value, ok, model)
				}
				if ok {
					e := model[i]
					model = append(slices.Delete(model, i, i+1), e)
				}
			case 1:
				value := rapid.Int().Draw(t, "value")
				c.put(key, value)
				if i := find(key); i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
				model = append(model, entry{key, value})
			case 2:
				got := c.getOrPut(key, func() int { return -key })
				e := entry{key, -key}
				if i := find(key); i >= 0 {
					e = model[i]
					model = slices.Delete(model, i, i+1)
				}
				model = append(model, e)
				if got != e.value {
					t.Fatalf("getOrPut %d: %d, want %d", key, got, e.value)
				}
			case 3:
				odd := func(v int) bool { return v%2 != 0 }
				c.removeIf(odd)
				model = slices.DeleteFunc(model, func(e entry) bool { return odd(e.value) })
			}
			if len(model) > capacity {
				model = model[1:]
			}
			if c.len() != len(model) {
				t.Fatalf("%d entries, want %d", c.len(), len(model))
			}
		}
	})
}

// TestLRUOverwrites looks at the memory of an entry that was forgotten: it may have
// been a key.
func TestLRUOverwrites(t *testing.T) {
	c := newLRU[int, int](1000)
	for i := range 200 {
		c.put(i, -1)
	}
	chunks := slices.Clone(c.chunks)
	c.removeIf(func(int) bool { return true })
	for _, chunk := range chunks {
		for _, n := range chunk {
			if n.value != 0 || n.key != 0 {
				t.Fatalf("an entry is left: %d, %d", n.key, n.value)
			}
		}
	}
	if len(c.chunks) != 0 || len(chunks) != 4 {
		t.Errorf("%d chunks kept of %d", len(c.chunks), len(chunks))
	}
}
