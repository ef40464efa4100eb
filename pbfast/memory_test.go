package pbfast_test

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"postage/pbfast/internal/testmessages/memory"
	"postage/pbfast/internal/testmessages/proto3"
	pbfast "postage/pbfast/runtime"
)

// allocated is how many bytes f allocates, and live how much more heap is in use after it.
func allocated(f func()) (total, live int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	total = int64(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return total, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// What a program keeps of messages that it decoded holds no more memory than with protobuf-go.
func TestMemoryKeptByParts(t *testing.T) {
	const copies, blob = 20, 1 << 18
	part := func() *memory.Part {
		return &memory.Part{Name: proto.String("ten bytes."), Number: proto.Int64(1)}
	}
	big := func() *memory.Part { return &memory.Part{Blob: make([]byte, blob)} }
	m := &memory.Whole{
		Name: proto.String("ten bytes."), Blob: make([]byte, blob), Part: part(), Second: big(),
		Parts: []*memory.Part{part(), big()}, Names: []string{"ten bytes.", strings.Repeat("x", blob)},
		ByName: map[string]*memory.Part{"ten bytes.": part(), "other": big()},
		Choice: &memory.Whole_Chosen{Chosen: part()}, Number: proto.Int32(1), Other: proto.String(strings.Repeat("x", blob)),
	}
	m.Part.Inner = &memory.Inner{Name: proto.String("ten bytes.")}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	keep := map[string]func(m *memory.Whole) any{
		"a string":            func(m *memory.Whole) any { return *m.Name },
		"a string's pointer":  func(m *memory.Whole) any { return m.Name },
		"a number's pointer":  func(m *memory.Whole) any { return m.Number },
		"a message":           func(m *memory.Whole) any { return m.Part },
		"a message within":    func(m *memory.Whole) any { return m.Part.Inner },
		"a clone":             func(m *memory.Whole) any { return proto.Clone(m.Part) },
		"an element":          func(m *memory.Whole) any { return m.Parts[0] },
		"an element's string": func(m *memory.Whole) any { return *m.Parts[0].Name },
		"one of the strings":  func(m *memory.Whole) any { return m.Names[0] },
		"a oneof's message":   func(m *memory.Whole) any { return m.GetChosen() },
		"a map's value":       func(m *memory.Whole) any { return m.ByName["ten bytes."] },
		"a map's key":         func(m *memory.Whole) any { return slices.MaxFunc(slices.Collect(maps.Keys(m.ByName)), byLength) },
	}
	kept := func(decode func([]byte, *memory.Whole) error, part func(*memory.Whole) any) int64 {
		var parts []any
		_, live := allocated(func() {
			for range copies {
				m := new(memory.Whole)
				if err := decode(data, m); err != nil {
					t.Fatal(err)
				}
				parts = append(parts, part(m))
			}
		})
		runtime.KeepAlive(parts)
		return live / copies
	}
	for name, part := range keep {
		want := kept(func(data []byte, m *memory.Whole) error { return theirs(data, m, proto.UnmarshalOptions{}) }, part)
		for way, decode := range map[string]func([]byte, *memory.Whole) error{
			"proto.Unmarshal": func(data []byte, m *memory.Whole) error { return proto.Unmarshal(data, m) },
			"UnmarshalVT":     func(data []byte, m *memory.Whole) error { return m.UnmarshalVT(data) },
		} {
			got := kept(decode, part)
			t.Logf("%s of a message of %d bytes, %s: keeps %d bytes, with protobuf-go %d", name, len(data), way, got, want)
			if got > want+4096 {
				t.Errorf("%s of a message of %d bytes, %s: keeps %d bytes, with protobuf-go %d", name, len(data), way, got, want)
			}
		}
	}
}

func byLength(a, b string) int { return len(a) - len(b) }

// No input makes a decoder allocate more than a fixed multiple of its length.
func TestMemoryPerInputByte(t *testing.T) {
	const n = 100_000
	field := func(number protowire.Number, value string) []byte {
		return []byte(strings.Repeat(string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)), n))
	}
	nested := []byte{}
	for range 5_000 {
		nested = protowire.AppendBytes(protowire.AppendTag(nil, 27, protowire.BytesType), nested)
	}
	for name, data := range map[string][]byte{
		"empty repeated messages":  field(48, ""),
		"empty recursive messages": field(27, ""),
		"empty map entries":        field(69, ""),
		"empty strings":            field(44, ""),
		"two kinds in turn":        bytes.Repeat(append(field(48, "")[:3:3], field(44, "")[:3]...), n),
		"a packed field":           field(31, strings.Repeat("\x00", 10)),
		"unknown fields":           field(4000, ""),
		"nested messages":          nested,
		"a length that lies":       append(field(44, "")[:2], 0xff, 0xff, 0xff, 0x7f),
	} {
		var before, after runtime.MemStats
		m := new(proto3.TestAllTypesProto3)
		runtime.ReadMemStats(&before)
		_ = m.Unmarshal(data)
		runtime.ReadMemStats(&after)
		// What the message itself and the test's own machinery take does not grow with the input.
		ratio := float64(int64(after.TotalAlloc-before.TotalAlloc)-64<<10) / float64(len(data))
		t.Logf("%s: %.1f bytes a byte", name, ratio)
		if ratio > 600 {
			t.Errorf("%s: %.0f bytes are allocated for each byte of input", name, ratio)
		}
		runtime.KeepAlive(m)
	}
}

// A map has the room that its entries take, and not for each time that one is written over.
func TestMemoryOfOneKey(t *testing.T) {
	const times = 1 << 21
	entry := protowire.AppendBytes(protowire.AppendTag(nil, 69, protowire.BytesType), nil)
	data := bytes.Repeat(entry, times)
	m := new(proto3.TestAllTypesProto3)
	total, live := allocated(func() {
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
	})
	runtime.KeepAlive(m)
	t.Logf("%d bytes allocated, %d live", total, live)
	if total > 1<<20 || len(m.MapStringString) != 1 {
		t.Errorf("%d bytes of input: %d bytes are allocated for %d entries", len(data), total, len(m.MapStringString))
	}
}

// A buffer that an encoding made is long enough for the next one, which then needs no size.
func TestKeptBufferNeedsNoSize(t *testing.T) {
	text, asked := strings.Repeat("x", 100), 0
	size := func(text *string) int { asked++; return 2 + len(*text) }
	encode := func(b []byte) []byte {
		var e pbfast.Encoder
		_, w, i, _ := pbfast.Start(&e, b, &text, size)
		w, i = e.Room(w, i, 11+len(text))
		b, err := e.Finish(w, e.PutText(w, i, text, 0xa))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	kept := encode(nil)
	if again := encode(kept[:0]); asked != 1 || len(again) != 2+len(text) {
		t.Errorf("the size was asked for %d times by two encodings of %d bytes", asked, len(again))
	}
}
