package pgbulk

import "hash/maphash"

// keys remembers the keys of a call's rows, to find one that occurs again in a later statement: 96
// bits of hashes in place of a key, so that two different keys are not taken for one.
type keys struct {
	rows map[keyHash]uint32
	a, b maphash.Seed
}

type keyHash struct {
	hash  uint64
	check uint32
}

// smallKeys is how many keys' room is kept from one call to the next.
const smallKeys = 1 << 10

func (k *keys) reset() {
	if k.rows == nil || len(k.rows) > smallKeys {
		*k = keys{rows: map[keyHash]uint32{}, a: maphash.MakeSeed(), b: maphash.MakeSeed()}
	}
	clear(k.rows)
}

// add remembers a row's key, and returns the row that had it before, if one did.
func (k *keys) add(key []byte, row int) (first int, again bool) {
	h := keyHash{maphash.Bytes(k.a, key), uint32(maphash.Bytes(k.b, key))}
	if first, again := k.rows[h]; again {
		return int(first), true
	}
	k.rows[h] = uint32(row)
	return 0, false
}
