package webpush

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCache compares the cache with a map of all that was put in: what is there is the last value,
// nothing is forgotten while there is room, and not what is marked as read while anything is not.
func TestCache(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		capacity := 1 + r.IntN(5)
		c := newCache[int, int](capacity)
		last := make(map[int]int)
		unread := func() (keys []int) {
			for key, number := range c.numbers {
				if !c.entry(number).used {
					keys = append(keys, key)
				}
			}
			return keys
		}
		kept := func() (keys []int) {
			for key, number := range c.numbers {
				if value := c.entry(number).value; value != last[key] {
					t.Fatalf("%d is %d, want %d", key, value, last[key])
				}
				keys = append(keys, key)
			}
			return keys
		}
		for range r.IntN(61) {
			key, before := r.IntN(8), kept()
			switch r.IntN(3) {
			case 0:
				value, ok := c.get(key)
				if ok != slices.Contains(before, key) || ok && value != last[key] {
					t.Fatalf("get %d: %d, %v; kept %v", key, value, ok, before)
				}
				if slices.Contains(unread(), key) {
					t.Fatalf("%d was read and is not marked", key)
				}
			case 1:
				may := unread()
				last[key] = r.Int()
				c.put(key, last[key])
				forgotten := slices.DeleteFunc(slices.Clone(before), func(k int) bool { return slices.Contains(kept(), k) })
				isNew := !slices.Contains(before, key)
				if want := isNew && len(before) == capacity; len(forgotten) > 1 || want != (len(forgotten) == 1) || !slices.Contains(kept(), key) {
					t.Fatalf("put %d: forgot %v of %v, capacity %d", key, forgotten, before, capacity)
				}
				if len(forgotten) == 1 && len(may) > 0 && !slices.Contains(may, forgotten[0]) {
					t.Fatalf("forgot %d, which was read, of %v; not read %v", forgotten[0], before, may)
				}
			case 2:
				odd := func(v int) bool { return v%2 != 0 }
				c.removeIf(odd)
				want := slices.DeleteFunc(before, func(k int) bool { return odd(last[k]) })
				if got := kept(); len(got) != len(want) {
					t.Fatalf("removed to %v, want %v", got, want)
				}
			}
			if len(c.numbers)+len(c.free) != int(c.made) || c.len() > capacity {
				t.Fatalf("%d entries and %d free of %d made, capacity %d", c.len(), len(c.free), c.made, capacity)
			}
		}
	}
}

// TestCacheOverwrites looks at the memory of an entry that was forgotten: it may have
// been a key.
func TestCacheOverwrites(t *testing.T) {
	c := newCache[int, int](1000)
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
