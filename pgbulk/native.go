package pgbulk

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// The usual values of the usual types are encoded here, without an allocation, to the same bytes as
// by pgx's codecs. All other values, and all of types for which the program has registered a codec
// or wrapper, are encoded by the type map.

// appendValue appends a value in binary with its length before it, or -1 for NULL. ok is false if
// the type map must encode it.
func (h shape) appendValue(dst []byte, v any) (out []byte, ok bool) {
	switch h {
	case shapeInt2, shapeInt4, shapeInt8:
		return h.appendInt(dst, v)
	case shapeFloat4, shapeFloat8:
		f, null, ok := floatOf(v)
		switch {
		case !ok || null:
			return appendNull(dst, ok)
		case h == shapeFloat4:
			return append32(dst, int32(math.Float32bits(float32(f)))), true
		}
		return append64(dst, int64(math.Float64bits(f))), true
	case shapeBool:
		return appendBool(dst, v)
	case shapeTimestamptz, shapeTimestamp, shapeDate:
		return h.appendTime(dst, v)
	case shapeUUID:
		return appendUUID(dst, v)
	case shapeNumeric:
		return appendNumeric(dst, v)
	}
	return dst, false
}

// ownPlans reports whether the type map encodes values of Go's types as pgx does by default:
// whether the program has registered no wrapper that takes such values first.
func ownPlans(m *pgtype.Map) bool {
	is := func(i int, f pgtype.TryWrapEncodePlanFunc) bool {
		return i < len(m.TryWrapEncodePlanFuncs) && reflect.ValueOf(m.TryWrapEncodePlanFuncs[i]).Pointer() == reflect.ValueOf(f).Pointer()
	}
	for i, wrap := range m.TryWrapEncodePlanFuncs {
		if is(i, pgtype.TryWrapDerefPointerEncodePlan) {
			return is(i+1, pgtype.TryWrapBuiltinTypeEncodePlan)
		}
		for _, v := range wrapped {
			if _, _, takes := wrap(v); takes {
				return false
			}
		}
	}
	return false
}

// wrapped are values of the types that are encoded here and that pgx has wrappers for.
var wrapped = []any{0, new(int), int16(0), new(int16), int32(0), new(int32), int64(0), new(int64), float32(0), new(float32), 0.0, new(float64),
	new(bool), "", new(string), time.Time{}, new(time.Time), [16]byte{}, new([16]byte)}

func appendNull(dst []byte, ok bool) ([]byte, bool) {
	if !ok {
		return dst, false
	}
	return append(dst, 0xff, 0xff, 0xff, 0xff), true
}

func append32(dst []byte, n int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, 0, 0, 4), uint32(n))
}

func append64(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(n))
}

// deref is what a pointer points to.
func deref[T any](p *T) (v T, null bool) {
	if p == nil {
		return v, true
	}
	return *p, false
}

// wide is the number that a pointer points to.
func wide[W int64 | float64, T int | int16 | int32 | int64 | float32 | float64](p *T) (n W, null bool) {
	v, null := deref(p)
	return W(v), null
}

// textOf is a string, or what a pointer to one points to.
func textOf(v any) (s string, null, ok bool) {
	switch v := v.(type) {
	case string:
		return v, false, true
	case *string:
		s, null = deref(v)
		return s, null, true
	}
	return "", false, false
}

// intOf is an integer of a type that people use for a column.
func intOf(v any) (n int64, null, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, false, true
	case int:
		return int64(v), false, true
	case int32:
		return int64(v), false, true
	case int16:
		return int64(v), false, true
	case *int64:
		n, null = wide[int64](v)
	case *int:
		n, null = wide[int64](v)
	case *int32:
		n, null = wide[int64](v)
	case *int16:
		n, null = wide[int64](v)
	case pgtype.Int8:
		n, null = v.Int64, !v.Valid
	case pgtype.Int4:
		n, null = int64(v.Int32), !v.Valid
	case pgtype.Int2:
		n, null = int64(v.Int16), !v.Valid
	default:
		return 0, false, false
	}
	return n, null, true
}

func (h shape) appendInt(dst []byte, v any) ([]byte, bool) {
	n, null, ok := intOf(v)
	if s, isNull, isText := textOf(v); isText {
		var err error
		if null = isNull; !null && (len(s) >= 20 || !digits(strings.TrimPrefix(s, "-"))) {
			return dst, false // see readsAlike
		} else if !null {
			n, err = strconv.ParseInt(s, 10, 64)
		}
		ok = err == nil
	}
	switch {
	case !ok || null:
		return appendNull(dst, ok)
	case h == shapeInt8:
		return append64(dst, n), true
	case h == shapeInt4 && n == int64(int32(n)):
		return append32(dst, int32(n)), true
	case h == shapeInt2 && n == int64(int16(n)):
		return binary.BigEndian.AppendUint16(append(dst, 0, 0, 0, 2), uint16(n)), true
	}
	return dst, false
}

func floatOf(v any) (f float64, null, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, false, true
	case float32:
		return float64(v), false, true
	case *float64:
		f, null = wide[float64](v)
	case *float32:
		f, null = wide[float64](v)
	case pgtype.Float8:
		f, null = v.Float64, !v.Valid
	case pgtype.Float4:
		f, null = float64(v.Float32), !v.Valid
	default:
		return 0, false, false
	}
	return f, null, true
}

func appendBool(dst []byte, v any) ([]byte, bool) {
	var b, null bool
	switch v := v.(type) {
	case bool:
		b = v
	case *bool:
		b, null = deref(v)
	case pgtype.Bool:
		b, null = v.Bool, !v.Valid
	default:
		return dst, false
	}
	switch {
	case null:
		return appendNull(dst, true)
	case b:
		return append(dst, 0, 0, 0, 1, 1), true
	}
	return append(dst, 0, 0, 0, 1, 0), true
}

func appendUUID(dst []byte, v any) ([]byte, bool) {
	var u [16]byte
	var null bool
	switch v := v.(type) {
	case [16]byte:
		u = v
	case *[16]byte:
		u, null = deref(v)
	case pgtype.UUID:
		u, null = v.Bytes, !v.Valid
	case *pgtype.UUID:
		p, isNull := deref(v)
		u, null = p.Bytes, isNull || !p.Valid
	default:
		s, isNull, ok := textOf(v)
		if null = isNull; !ok || !null && !uuid(s) {
			return dst, false
		}
		if !null {
			var text [32]byte
			n := 0
			for _, part := range [...]string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
				n += copy(text[n:], part)
			}
			if _, err := hex.Decode(u[:], text[:]); err != nil {
				return dst, false
			}
		}
	}
	if null {
		return appendNull(dst, true)
	}
	return append(append(dst, 0, 0, 0, 16), u[:]...), true
}

// y2k is the beginning of the year 2000, from which the server counts, in seconds since 1970.
const y2k = 946_684_800

// manySeconds is nearly the most seconds whose microseconds fit in 64 bits: the year 280,708. pgx
// encodes what is beyond.
const manySeconds = 1 << 43

func (h shape) appendTime(dst []byte, v any) ([]byte, bool) {
	var t time.Time
	var infinity pgtype.InfinityModifier
	null, ok := false, true
	switch v := v.(type) {
	case time.Time:
		t = v
	case *time.Time:
		t, null = deref(v)
	case pgtype.Timestamptz:
		t, infinity, null, ok = v.Time, v.InfinityModifier, !v.Valid, h == shapeTimestamptz
	case pgtype.Timestamp:
		t, infinity, null, ok = v.Time, v.InfinityModifier, !v.Valid, h == shapeTimestamp
	case pgtype.Date:
		t, infinity, null, ok = v.Time, v.InfinityModifier, !v.Valid, h == shapeDate
	default:
		ok = false
	}
	if !ok {
		return dst, false
	}
	if null {
		return appendNull(dst, true)
	}
	seconds := t.Unix()
	if h != shapeTimestamptz { // the others are what the clock shows in the time's own zone
		_, offset := t.Zone()
		seconds += int64(offset)
	}
	if infinity != pgtype.Finite || seconds < -manySeconds || seconds > manySeconds {
		return dst, false
	}
	if h == shapeDate {
		const day = 24 * 3600
		days := (seconds + manySeconds*day) / day // rounded down
		return append32(dst, int32(days-manySeconds-y2k/day)), true
	}
	return append64(dst, (seconds-y2k)*1_000_000+int64(t.Nanosecond())/1000), true
}

func appendNumeric(dst []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case pgtype.Numeric:
		return appendDecimalOf(dst, &v)
	case *pgtype.Numeric:
		if v != nil {
			return appendDecimalOf(dst, v)
		}
		return appendNull(dst, true)
	}
	if s, null, ok := textOf(v); ok {
		if null {
			return appendNull(dst, true)
		}
		return appendDecimalText(dst, s)
	}
	var room [32]byte
	if n, null, ok := intOf(v); ok {
		if null {
			return appendNull(dst, true)
		}
		return appendDecimal(dst, alias(strconv.AppendInt(room[:0], n, 10)), 0)
	}
	f, null, ok := floatOf(v)
	if !ok || null || math.IsNaN(f) || math.IsInf(f, 0) {
		return appendNull(dst, null)
	}
	return appendDecimalText(dst, alias(strconv.AppendFloat(room[:0], f, 'f', -1, 64)))
}

// appendDecimalOf appends a number whose digits fit in 63 bits, as most do.
func appendDecimalOf(dst []byte, n *pgtype.Numeric) ([]byte, bool) {
	if !n.Valid {
		return appendNull(dst, true)
	}
	if n.NaN || n.InfinityModifier != pgtype.Finite || n.Int != nil && !n.Int.IsInt64() {
		return dst, false
	}
	var room [20]byte
	text := room[:0]
	if n.Int != nil {
		text = strconv.AppendInt(text, n.Int.Int64(), 10)
	}
	return appendDecimal(dst, alias(text), n.Exp)
}

// appendDecimalText appends a number that is written as PostgreSQL and pgx both read it.
func appendDecimalText(dst []byte, s string) ([]byte, bool) {
	if len(s) >= 1000 || !decimal(s) {
		return dst, false
	}
	whole, fraction, point := strings.Cut(s, ".")
	if point {
		var room [128]byte
		text := append(append(room[:0], whole...), fraction...)
		return appendDecimal(dst, alias(text), -int32(len(fraction)))
	}
	// pgx has the zeros at the end of a whole number in the exponent.
	exp := int32(0)
	for len(whole) > 1 && whole[len(whole)-1] == '0' && whole[len(whole)-2] != '-' {
		whole, exp = whole[:len(whole)-1], exp+1
	}
	return appendDecimal(dst, whole, exp)
}

// appendDecimal appends text, decimal digits with perhaps a minus before them, times ten to the
// power of exp. The server's digits count to 10,000 and begin at the decimal point: see
// numeric_recv in PostgreSQL's numeric.c.
func appendDecimal(dst []byte, text string, exp int32) ([]byte, bool) {
	const most = 8000 // more is rare, and perhaps out of the server's range: pgx has the errors
	if exp < -most || exp > most {
		return dst, false
	}
	text, negative := strings.CutPrefix(text, "-")
	text = strings.TrimLeft(text, "0")
	// Digit groups end at a multiple of four from the point: exp is made one, with zeros behind the
	// text for the rest.
	aligned := exp &^ 3
	zeros := int(exp - aligned)
	total := len(text) + zeros // decimal digits from aligned upwards
	if text == "" {
		total = 0
	}
	fractions := int(max(0, -aligned)) / 4
	wholes := max(0, (total+3)/4-fractions)
	weight := int(aligned)/4 - 1 + fractions
	if wholes > 0 {
		weight = wholes - 1 + int(max(0, aligned))/4
	}
	scale := max(0, -exp)
	sign := 0
	if negative && text != "" {
		sign = 0x4000
	}
	groups := wholes + fractions
	dst = binary.BigEndian.AppendUint32(dst, uint32(8+2*groups))
	for _, n := range [...]int{groups, weight, sign, int(scale)} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	}
	// The i-th decimal digit from the left of all groups is the text's, or a zero before or behind
	// it.
	at := total - 4*groups
	for range groups {
		group := uint16(0)
		for range 4 {
			group *= 10
			if at >= 0 && at < len(text) {
				group += uint16(text[at] - '0')
			}
			at++
		}
		dst = binary.BigEndian.AppendUint16(dst, group)
	}
	return dst, true
}
