package pgbulk

import "hash/maphash"

// keys remembers the keys of a call's rows, to find one that occurs again in a later statement: 96
// bits of hashes in place of a key, so that two different keys are not taken for one. It is a table
// of its own because a Go map of 100,000 hashes takes twice the time, an eighth of an upsert.
type keys struct {
	slots []keySlot // a power of two, at most three quarters in use
	used  int
	a, b  maphash.Seed
}

// keySlot is a row by the hashes of its key.
type keySlot struct {
	hash  uint64
	check uint32
	row   uint32 // from 1; 0 is an empty slot
}

// smallKeys is how many slots are kept from one call to the next: 1 MB.
const smallKeys = 1 << 16

func (k *keys) reset() {
	if len(k.slots) == 0 || len(k.slots) > smallKeys {
		*k = keys{slots: make([]keySlot, 1<<10), a: maphash.MakeSeed(), b: maphash.MakeSeed()}
	} else if k.used > 0 {
		clear(k.slots)
		k.used = 0
	}
}

// add remembers a row's key, and returns the row that had it before, if one did.
func (k *keys) add(key []byte, row int) (first int, again bool) {
	hash, check := maphash.Bytes(k.a, key), uint32(maphash.Bytes(k.b, key))
	s := k.slot(hash, check)
	if s.row != 0 {
		return int(s.row - 1), true
	}
	*s = keySlot{hash, check, uint32(row + 1)}
	if k.used++; k.used > len(k.slots)/4*3 {
		old := k.slots
		k.slots = make([]keySlot, 2*len(old))
		for _, s := range old {
			if s.row != 0 {
				*k.slot(s.hash, s.check) = s
			}
		}
	}
	return 0, false
}

// slot is where a key is, or the empty slot where it belongs.
func (k *keys) slot(hash uint64, check uint32) *keySlot {
	mask := uint64(len(k.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := &k.slots[i]; s.row == 0 || s.hash == hash && s.check == check {
			return s
		}
	}
}
