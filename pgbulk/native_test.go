package pgbulk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// nativeTypes are the types whose values are encoded here.
var nativeTypes = []uint32{pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.BoolOID,
	pgtype.TimestamptzOID, pgtype.TimestampOID, pgtype.DateOID, pgtype.UUIDOID, pgtype.NumericOID}

// sameAsPgx compares what is made of a value with what pgx makes of it. It reports whether it was
// made here.
func sameAsPgx(t *testing.T, m *pgtype.Map, oid uint32, v any) bool {
	t.Helper()
	got, native := shapeOf(m, oid).appendValue([]byte("before"), v)
	got, kept := bytes.CutPrefix(got, []byte("before"))
	if !kept || !native && len(got) > 0 {
		t.Fatalf("%T %v for type %d: what was there before became %q", v, v, oid, got)
	}
	if !native {
		return false
	}
	typ, _ := m.TypeForOID(oid)
	value, err := m.Encode(oid, binaryFormat, v, []byte{})
	if s, _, isText := textOf(v); isText && err != nil { // as encoder.encode does
		var parsed any
		if !readsAlike(oid, s) {
			t.Fatalf("%q as %s is not to be read here", s, typ.Name)
		}
		if err = m.Scan(oid, textFormat, []byte(s), &parsed); err == nil {
			value, err = m.Encode(oid, binaryFormat, parsed, []byte{})
		}
	}
	if err != nil {
		t.Fatalf("%T %v as %s: pgx refuses it: %v", v, v, typ.Name, err)
	}
	want := []byte{0xff, 0xff, 0xff, 0xff}
	if value != nil {
		want = append(binary.BigEndian.AppendUint32(nil, uint32(len(value))), value...)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%T %v as %s: %x, pgx has %x", v, v, typ.Name, got, want)
	}
	return true
}

// pointers are a value, a pointer to it, and one to nothing.
func pointers[T any](values ...T) (all []any) {
	for _, v := range values {
		all = append(all, v, &v)
	}
	return append(all, (*T)(nil))
}

func numeric(digits string, exp int32) pgtype.Numeric {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		panic(digits)
	}
	return pgtype.Numeric{Int: n, Exp: exp, Valid: true}
}

// edges are values of all types that are looked at, of those that are encoded here and of others.
func edges() []any {
	zones := []*time.Location{time.UTC, time.Local, time.FixedZone("", 14*3600), time.FixedZone("", -12*3600-1), nil}
	var times []time.Time
	for _, year := range []int{-5000, -4713, -4712, -1, 0, 1, 1582, 1883, 1969, 1970, 1999, 2000, 2026, 9999, 10000, 294_276, 294_277, 300_000, -300_000, 20_000_000} {
		for _, zone := range zones {
			if zone != nil {
				times = append(times, time.Date(year, 1, 1, 0, 0, 0, 0, zone), time.Date(year, 12, 31, 23, 59, 59, 999_999_999, zone), time.Date(year, 2, 29, 12, 0, 0, 1, zone))
			}
		}
	}
	times = append(times, time.Time{}, time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0), time.Unix(manySeconds, 999_999_999), time.Unix(-manySeconds, 1), time.Now())
	ints := []int64{0, 1, -1, 9, 10, 9999, 10_000, 10_001, 99_999_999, 100_000_000, math.MaxInt16, math.MaxInt16 + 1, math.MinInt16, math.MinInt16 - 1,
		math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, math.MinInt32 - 1, math.MaxInt64, math.MinInt64}
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e-5, 12345.678, 1e15, 1e21, 1e22, -1e100, math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, math.NaN(),
		math.Inf(1), math.Inf(-1), math.Float64frombits(0x7ff0000000000001), math.Pi}
	all := slices.Concat(pointers(times...), pointers(ints...), pointers(floats...), pointers(true, false), pointers([16]byte{}, [16]byte{1, 15: 255}))
	for _, n := range ints {
		all = append(all, int(n), int32(n), int16(n), uint64(n), int8(n), pgtype.Int8{Int64: n, Valid: true}, pgtype.Int4{Int32: int32(n), Valid: true}, pgtype.Int2{Int16: int16(n), Valid: true})
		for exp := int32(-20); exp < 20; exp++ {
			all = append(all, numeric(fmt.Sprint(n), exp))
		}
	}
	for _, f := range floats {
		all = append(all, float32(f), pgtype.Float8{Float64: f, Valid: true}, pgtype.Float4{Float32: float32(f), Valid: true})
	}
	for _, t := range times {
		all = append(all, pgtype.Timestamptz{Time: t, Valid: true}, pgtype.Timestamp{Time: t, Valid: true}, pgtype.Date{Time: t, Valid: true})
	}
	for _, i := range []pgtype.InfinityModifier{pgtype.Infinity, pgtype.NegativeInfinity} {
		all = append(all, pgtype.Timestamptz{InfinityModifier: i, Valid: true}, pgtype.Timestamp{InfinityModifier: i, Valid: true}, pgtype.Date{InfinityModifier: i, Valid: true},
			pgtype.Numeric{InfinityModifier: i, Valid: true})
	}
	all = append(all, pointers(int(1))...)
	all = append(all, pointers(int32(-1))...)
	all = append(all, pointers(int16(-1))...)
	all = append(all, pointers(float32(-1.25))...)
	all = append(all, pointers(pgtype.UUID{}, pgtype.UUID{Bytes: [16]byte{3}, Valid: true})...)
	all = append(all, pointers(pgtype.Numeric{}, pgtype.Numeric{Valid: true}, pgtype.Numeric{Valid: true, Exp: -3}, pgtype.Numeric{NaN: true, Valid: true}, numeric("12345", -2),
		numeric("123456789012345678901234567890", -10), numeric("1", -8000), numeric("1", 8000), numeric("1", -16383), numeric("1", 40_000), numeric("0", 9))...)
	texts := []string{"", "0", "-0", "00", "0000", "00000", "-00000", "1", "10", "100", "1000", "10000", "100000000", "-12300000", "007", "1.5", "-1.50", "0.0001", "0.00001", "-0.000000001", "00012.3400",
		"123456789012345678901234567890.123456789012345678901234567890", strings.Repeat("9", 999), strings.Repeat("1234", 100) + "." + strings.Repeat("5678", 100), "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-32768", "32768", "1e5", "NaN", "Infinity", "+1", " 1", ".5", "5.", "0-1",
		"01234567-89ab-cdef-0123-456789ABCDEF", "01234567-89ab-cdef-0123-456789ABCDEG", "0123456789abcdef0123456789abcdef", "true", "2026-01-02", "2026-01-02 03:04:05Z"}
	return append(append(all, pointers(texts...)...), nil, pgtype.Int8{}, pgtype.Int4{}, pgtype.Int2{}, pgtype.Float8{}, pgtype.Float4{}, pgtype.Bool{}, pgtype.Bool{Bool: true, Valid: true}, pgtype.Timestamptz{},
		pgtype.Timestamp{}, pgtype.Date{}, pgtype.Text{String: "1", Valid: true}, []byte("1"), time.Second, struct{}{}, Default)
}

// TestNative compares every value that is encoded here with what pgx makes of it, and expects most
// to be encoded here.
func TestNative(t *testing.T) {
	m := pgtype.NewMap()
	counts := map[uint32]int{}
	for _, oid := range nativeTypes {
		for _, v := range edges() {
			if v != nil && sameAsPgx(t, m, oid, v) {
				counts[oid]++
			}
		}
	}
	for oid, least := range map[uint32]int{pgtype.Int2OID: 50, pgtype.Int4OID: 100, pgtype.Int8OID: 150, pgtype.Float4OID: 90, pgtype.Float8OID: 90, pgtype.BoolOID: 6,
		pgtype.TimestamptzOID: 500, pgtype.TimestampOID: 500, pgtype.DateOID: 500, pgtype.UUIDOID: 10, pgtype.NumericOID: 1000} {
		if counts[oid] < least {
			t.Errorf("of type %d %d values were encoded here, want at least %d", oid, counts[oid], least)
		}
	}
}

// TestNativeAllocates expects no allocation for the usual value of each type.
func TestNativeAllocates(t *testing.T) {
	m := pgtype.NewMap()
	now, id, n := time.Now(), int64(1<<40), numeric("12345678", -2)
	for oid, values := range map[uint32][]any{
		pgtype.Int8OID: {id, &id, "123"}, pgtype.Int4OID: {1}, pgtype.Int2OID: {1}, pgtype.Float4OID: {1.5}, pgtype.Float8OID: {1.5}, pgtype.BoolOID: {true},
		pgtype.TimestamptzOID: {now, &now}, pgtype.TimestampOID: {now}, pgtype.DateOID: {now}, pgtype.UUIDOID: {[16]byte{1}, "01234567-89ab-cdef-0123-456789ABCDEF"},
		pgtype.NumericOID: {n, &n, id, 12.5, "1234567890.12", "100"},
	} {
		e := encoder{m: m, columns: []column{{oid: oid, format: binaryFormat, shape: shapeOf(m, oid)}}}
		dst := make([]byte, 0, 100)
		for _, v := range values {
			if allocations := testing.AllocsPerRun(100, func() {
				if _, err := e.append(dst, 0, v); err != nil {
					t.Error(err)
				}
			}); allocations > 0 {
				t.Errorf("a %T for type %d: %v allocations", v, oid, allocations)
			}
		}
	}
}

type secret int64

type secretPlan struct{ next pgtype.EncodePlan }

func (p *secretPlan) SetNext(next pgtype.EncodePlan) { p.next = next }
func (p *secretPlan) Encode(v any, buf []byte) ([]byte, error) {
	return p.next.Encode(int64(42), buf)
}

type loudCodec struct{ pgtype.Int8Codec }

// TestNativeCustom registers codecs that encode values differently from pgx. They must be used.
func TestNativeCustom(t *testing.T) {
	wrapping := func(takes func(v any) bool) *pgtype.Map {
		m := pgtype.NewMap()
		m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{func(v any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
			return &secretPlan{}, int64(0), takes(v)
		}}, m.TryWrapEncodePlanFuncs...)
		return m
	}
	withCodec := pgtype.NewMap()
	withCodec.RegisterType(&pgtype.Type{Name: "int8", OID: pgtype.Int8OID, Codec: loudCodec{}})
	bare := pgtype.NewMap()
	bare.TryWrapEncodePlanFuncs = nil
	for _, c := range []struct {
		what   string
		m      *pgtype.Map
		native bool
	}{
		{"pgx's own", pgtype.NewMap(), true},
		{"a wrapper of a type of its own", wrapping(func(v any) bool { _, ok := v.(secret); return ok }), true},
		{"a wrapper of int", wrapping(func(v any) bool { _, ok := v.(int); return ok }), false},
		{"a wrapper of *time.Time", wrapping(func(v any) bool { _, ok := v.(*time.Time); return ok }), false},
		{"a codec", withCodec, false},
		{"no wrappers", bare, false},
	} {
		if _, native := shapeOf(c.m, pgtype.Int8OID).appendValue(nil, 7); native != c.native {
			t.Errorf("%s: encoded here: %v", c.what, native)
		}
	}
	m := wrapping(func(v any) bool { _, ok := v.(int); return ok })
	e := encoder{m: m, columns: []column{{oid: pgtype.Int8OID, format: binaryFormat, shape: shapeOf(m, pgtype.Int8OID)}}}
	if out, err := e.append(nil, 0, 7); err != nil || out[len(out)-1] != 42 {
		t.Errorf("the wrapper was not asked: %x, %v", out, err)
	}
}

// FuzzNative compares random values with what pgx makes of them.
func FuzzNative(f *testing.F) {
	f.Add(int64(0), int64(0), uint8(0), "0")
	f.Add(int64(math.MinInt64), int64(999_999_999), uint8(3), "-1.50")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		digits := fmt.Sprint(r.Int64() >> r.IntN(64))
		at := r.IntN(len(digits))
		f.Add(r.Int64()>>r.IntN(64), int64(r.Uint64()>>r.IntN(64)), uint8(r.IntN(256)), strings.Repeat("0", r.IntN(9))+digits[:at]+strings.Repeat("0", r.IntN(9))+"."+digits[at:])
	}
	m := pgtype.NewMap()
	f.Fuzz(func(t *testing.T, a, b int64, small uint8, text string) {
		at := time.Unix(a, b).In(time.FixedZone("", int(small)*1000-100_000))
		wide := pgtype.Numeric{Int: new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), Exp: int32(int8(small)), Valid: true}
		values := []any{a, int(a), int32(a), int16(a), math.Float64frombits(uint64(a)), math.Float32frombits(uint32(a)), float64(a), a%2 == 0, at, at.UTC(), text,
			pgtype.Timestamptz{Time: at, InfinityModifier: pgtype.InfinityModifier(small%3) - 1, Valid: small%5 > 0}, pgtype.Date{Time: at, Valid: true}, pgtype.Timestamp{Time: at, Valid: true},
			pgtype.Numeric{Int: big.NewInt(a), Exp: int32(int8(small)), Valid: true}, wide, pgtype.Numeric{Int: big.NewInt(a), Exp: int32(b), Valid: small > 250},
			fmt.Sprintf("%d.%0*d", a, small%30, b&math.MaxInt64), pgtype.UUID{Bytes: [16]byte{byte(a), byte(b), small}, Valid: true}.String()}
		for _, oid := range nativeTypes {
			for _, v := range values {
				sameAsPgx(t, m, oid, v)
			}
		}
	})
}
