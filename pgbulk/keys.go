package pgbulk

import (
	"encoding/binary"
	"hash/maphash"
)

// keys remembers the keys of a call's rows, to find one that occurs again in a later statement: 128
// bits of hashes in place of a key, so that two different keys are never taken for one.
type keys struct {
	rows map[[16]byte]uint32
	a, b maphash.Seed
}

// smallKeys is how many keys a map may have had that is kept from one call to the next: 1 MB.
const smallKeys = 1 << 15

func (k *keys) reset() {
	if k.rows == nil || len(k.rows) > smallKeys {
		*k = keys{map[[16]byte]uint32{}, maphash.MakeSeed(), maphash.MakeSeed()}
	}
	clear(k.rows)
}

// add remembers a row's key, and returns the row that had it before, if one did.
func (k *keys) add(key []byte, row int) (first int, again bool) {
	var hash [16]byte
	binary.NativeEndian.PutUint64(hash[:], maphash.Bytes(k.a, key))
	binary.NativeEndian.PutUint64(hash[8:], maphash.Bytes(k.b, key))
	if first, again := k.rows[hash]; again {
		return int(first), true
	}
	k.rows[hash] = uint32(row)
	return 0, false
}
