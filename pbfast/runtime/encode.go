package runtime

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"google.golang.org/protobuf/runtime/protoiface"
)

// smallBytes is how much of a message is written before its size is computed. A shorter message is
// written at the end of the buffer's spare bytes, which the caller's slice may have, and moved down
// once; for a longer one the size says where to write.
const smallBytes = 4096

// exactBelow is the size from which a new buffer has room to spare. Without it, each encoding into
// the kept buffer would ask for the size first, because Room asks for the most that fields can take.
const exactBelow = 64

// An Encoder holds the state of one encoding.
//
// A message is written from its last byte to its first, so that the length of a part is known when
// it has to be written. Generated functions pass on the window w, which ends where the message
// ends, and i, the index of the first byte written: w[:i] is free. They ask Grow for room once for
// a group of fields.
type Encoder struct {
	// Flags are the call's.
	Flags protoiface.MarshalInputFlags

	buf   []byte                   // all of it, to its capacity
	start int                      // where the message is to begin: before it is the caller's
	root  unsafe.Pointer           // the message
	size  func(unsafe.Pointer) int // of the message, until it has been asked for
	sized bool                     // it was asked for: all parts have their sizes in their caches
	err   error
}

// Start returns the arguments that encode m, a pointer, to the end of b. It keeps the size function
// apart from m, because a closure over m would have to be allocated.
func Start[M any](e *Encoder, b []byte, m M, size func(M) int) (*Encoder, []byte, int, uint64) {
	e.buf, e.start = b[:cap(b)], len(b)
	e.root = *(*unsafe.Pointer)(unsafe.Pointer(&m))
	e.size = *(*func(unsafe.Pointer) int)(unsafe.Pointer(&size))
	i := min(cap(b)-len(b), smallBytes)
	return e, e.buf[e.start : e.start+i : e.start+i], i, 0
}

// StartSized is Start for a message of the given size.
func (e *Encoder) StartSized(b []byte, size int) (*Encoder, []byte, int, uint64) {
	b = slices.Grow(b, size)
	e.buf, e.start = b[:cap(b)], len(b)
	return e, e.buf[e.start : e.start+size : e.start+size], size, 0
}

// cachedSize returns the size in a message's cache, if the flags allow its use. As in protobuf-go,
// the cache holds the size plus one.
func cachedSize(cache *int32, flags protoiface.MarshalInputFlags) (int, bool) {
	if cache == nil || flags&protoiface.MarshalUseCachedSize == 0 {
		return 0, false
	}
	size := atomic.LoadInt32(cache)
	return int(size) - 1, size > 0
}

// cacheSize puts a size into a message's cache.
func cacheSize(cache *int32, size int) {
	if size >= math.MaxInt32 {
		size = -1
	}
	atomic.StoreInt32(cache, int32(size+1))
}

// Into returns the arguments with which a message is encoded to the end of b.
func (e *Encoder) Into(b []byte) (*Encoder, []byte, int, uint64) { return e, b, len(b), 0 }

// Written returns the length of a message that was written to the end of a window.
func (e *Encoder) Written(w []byte, i int) (int, error) { return len(w) - i, e.err }

// Finish returns the caller's bytes with the message after them.
func (e *Encoder) Finish(w []byte, i int) ([]byte, error) {
	if e.err != nil {
		return e.buf[:e.start], e.err
	}
	if i > 0 {
		copy(w, w[i:])
	}
	return e.buf[:e.start+len(w)-i], nil
}

// Room makes room for need bytes, the most that a group of fields can take. Afterwards there is
// room for the rest of the message, even if that is less than need.
func (e *Encoder) Room(w []byte, i, need int) ([]byte, int) {
	if i < need {
		return e.grow(w, i)
	}
	return w, i
}

// grow makes room for the rest of the message.
func (e *Encoder) grow(w []byte, i int) ([]byte, int) {
	if e.size == nil {
		return w, i
	}
	size := e.size(e.root)
	e.size, e.sized = nil, true
	return e.widen(w, i, max(size, len(w)-i))
}

// widen makes the window size bytes long.
func (e *Encoder) widen(w []byte, i, size int) ([]byte, int) {
	written := w[i:]
	if e.start+size > len(e.buf) {
		room := size
		if size >= exactBelow || len(e.buf) > 0 {
			room += size/8 + 64
		}
		buf := make([]byte, e.start+room)
		copy(buf, e.buf[:e.start])
		e.buf = buf
	}
	w = e.buf[e.start : e.start+size : e.start+size]
	copy(w[size-len(written):], written)
	return w, size - len(written)
}

// room is Room for need bytes that are sure to be written.
func (e *Encoder) room(w []byte, i, need int) ([]byte, int) {
	if i < need {
		w, i = e.grow(w, i)
	}
	if i < need {
		w, i = e.widen(w, i, len(w)+need-i)
	}
	return w, i
}

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// Deterministic says whether maps are written in the order of their keys.
func (e *Encoder) Deterministic() bool { return e.Flags&protoiface.MarshalDeterministic != 0 }

// Head writes the length of a message, which ends at len(w)-end, and its tag before it, if each is
// of one byte and there is room. Otherwise it returns -1.
func Head(w []byte, i, end int, tag uint64) int {
	n := len(w) - i - end
	if i < 2 || n >= 0x80 || tag-1 >= 0x7f {
		return -1
	}
	head := w[i-2 : i]
	head[0], head[1] = byte(tag), byte(n)
	return i - 2
}

// Length writes the length of a message, which ends at len(w)-end, and its tag before it, unless
// that is 0: a message that is in no other has neither.
func (e *Encoder) Length(w []byte, i, end int, tag uint64) ([]byte, int) {
	if j := Head(w, i, end, tag); j >= 0 {
		return w, j
	}
	return e.longLength(w, i, end, tag)
}

func (e *Encoder) longLength(w []byte, i, end int, tag uint64) ([]byte, int) {
	if tag == 0 {
		return w, i
	}
	w, i = e.Room(w, i, 15)
	return w, PutVarint(w, PutVarint(w, i, uint64(len(w)-i-end)), tag)
}

// Unknown writes a message's unknown fields.
func (e *Encoder) Unknown(w []byte, i int, fields []byte) ([]byte, int) {
	if len(fields) == 0 {
		return w, i
	}
	return e.unknown(w, i, fields)
}

func (e *Encoder) unknown(w []byte, i int, fields []byte) ([]byte, int) {
	w, i = e.Room(w, i, len(fields))
	i -= len(fields)
	copy(w[i:], fields)
	return w, i
}

// SortedKeys returns the map's keys in the order in which deterministic encoding has them.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// SortedBools is SortedKeys for a map from bool: false before true.
func SortedBools[V any](m map[bool]V) []bool {
	keys := make([]bool, 0, 2)
	for _, k := range [...]bool{false, true} {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	return keys
}
