package pgbulk

import "hash/maphash"

// keys remembers the keys of a call's rows, to find one that occurs again in a later statement. It
// holds 96-bit hashes, 16 bytes a row. Two different keys with the same hash are unlikely, and
// harmless: the server decides whether the keys are equal.
type keys struct {
	slots  []keySlot // a power of two, at most three quarters in use
	used   int
	a, b   maphash.Seed
	seeded bool
}

type keySlot struct {
	hash  uint64
	check uint32
	row   uint32 // from 1; 0 is an empty slot
}

// smallKeys is how many slots are kept from one call to the next: 1 MB.
const smallKeys = 1 << 16

func (k *keys) reset() {
	if !k.seeded {
		k.a, k.b, k.seeded = maphash.MakeSeed(), maphash.MakeSeed(), true
	}
	if len(k.slots) == 0 || len(k.slots) > smallKeys {
		k.slots = make([]keySlot, 1<<10)
	} else if k.used > 0 {
		clear(k.slots)
	}
	k.used = 0
}

// add remembers a row's key, and returns the row that had it before, if one did.
func (k *keys) add(key []byte, row int) (first int, again bool) {
	if k.used >= len(k.slots)/4*3 {
		k.grow()
	}
	hash, check := maphash.Bytes(k.a, key), uint32(maphash.Bytes(k.b, key))
	mask := uint64(len(k.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &k.slots[i]
		if s.row == 0 {
			*s = keySlot{hash, check, uint32(row + 1)}
			k.used++
			return 0, false
		}
		if s.hash == hash && s.check == check {
			return int(s.row - 1), true
		}
	}
}

func (k *keys) grow() {
	old := k.slots
	k.slots = make([]keySlot, 2*len(old))
	mask := uint64(len(k.slots) - 1)
	for _, s := range old {
		if s.row == 0 {
			continue
		}
		i := s.hash & mask
		for k.slots[i].row != 0 {
			i = (i + 1) & mask
		}
		k.slots[i] = s
	}
}
