package pgbulk

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/jackc/pgx/v5/pgtype"
)

// Format codes of the protocol.
const (
	textFormat   = 0
	binaryFormat = 1
)

// maxValue is the limit on the length of a value, and of a Bind message, in bytes: PostgreSQL's
// MaxAllocSize of 1 GB less one, less what a value's header takes.
const maxValue = 1<<30 - 1 - 8

// shape is how a column's or parameter's type takes values that need no codec.
type shape uint8

const (
	shapeOther shape = iota // only the codec knows
	shapeText               // text, varchar, bpchar, name: as they are, in both formats
	shapeJSON               // json: as they are, in both formats
	shapeJSONB              // jsonb: as they are in text, after a version byte in binary
	shapeBytea              // bytea: bytes as they are, in binary
	shapeLabel              // enum, citext: a string as it is, in both formats
	// Types whose values in binary are made in native.go.
	shapeInt2
	shapeInt4
	shapeInt8
	shapeFloat4
	shapeFloat8
	shapeBool
	shapeTimestamptz
	shapeTimestamp
	shapeDate
	shapeUUID
	shapeNumeric
)

// shapes has the codecs that pgx registers itself.
var shapes = map[pgtype.Codec]shape{
	pgtype.TextCodec{}: shapeText, pgtype.ByteaCodec{}: shapeBytea,
	pgtype.Int2Codec{}: shapeInt2, pgtype.Int4Codec{}: shapeInt4, pgtype.Int8Codec{}: shapeInt8,
	pgtype.Float4Codec{}: shapeFloat4, pgtype.Float8Codec{}: shapeFloat8, pgtype.BoolCodec{}: shapeBool,
	pgtype.DateCodec{}: shapeDate, pgtype.UUIDCodec{}: shapeUUID, pgtype.NumericCodec{}: shapeNumeric,
}

func shapeOf(m *pgtype.Map, oid uint32) shape {
	t, ok := m.TypeForOID(oid)
	if !ok {
		return shapeOther
	}
	h := shapeOther
	switch t.Codec.(type) {
	case *pgtype.JSONCodec:
		h = shapeJSON
	case *pgtype.JSONBCodec:
		h = shapeJSONB
	case *pgtype.TimestamptzCodec:
		h = shapeTimestamptz
	case *pgtype.TimestampCodec:
		h = shapeTimestamp
	default:
		if reflect.TypeOf(t.Codec).Comparable() {
			h = shapes[t.Codec]
		}
	}
	if h >= shapeInt2 && !ownPlans(m) {
		return shapeOther
	}
	return h
}

// plain returns v's bytes if they are what a value of that shape consists of. They alias v.
func (h shape) plain(v any) (string, bool) {
	switch h {
	case shapeText, shapeJSON, shapeJSONB, shapeLabel:
		if s, null, ok := textOf(v); ok {
			return s, !null
		}
	case shapeBytea:
	default:
		return "", false
	}
	if h == shapeLabel {
		return "", false
	}
	switch v := v.(type) {
	case []byte:
		if v != nil {
			return alias(v), true
		}
	case *[]byte:
		if v != nil && *v != nil {
			return alias(*v), true
		}
	case json.RawMessage:
		if v != nil && (h == shapeJSON || h == shapeJSONB) {
			return alias(v), true
		}
	}
	return "", false
}

// alias is a string over bytes that do not change while it is in use.
func alias(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// column is what the encoder knows about a column.
type column struct {
	name   string
	oid    uint32
	format int16 // binary if the type map has a codec for it, or text is the same in binary
	shape  shape
}

// codecFormat is the format in which the codec is to encode a value.
func (c *column) codecFormat() int16 {
	if c.shape == shapeLabel {
		return textFormat
	}
	return c.format
}

// encoder turns values into the bytes that both COPY and Bind have for them: a length, -1 for NULL,
// and the value.
type encoder struct {
	m       *pgtype.Map
	columns []column
	isKey   []bool      // by column; nil if none is
	omits   bool        // what is left to its DEFAULT
	either  bool        // format may be taken, a column's before the other
	lock    *sync.Mutex // of the type map, if another goroutine uses it too
}

// binary reports whether all columns go in binary.
func (e *encoder) binary() bool {
	return !slices.ContainsFunc(e.columns, func(c column) bool { return c.format != binaryFormat })
}

// prefix is how many bytes of a column's plain value are not the value's own.
func (c *column) prefix() int {
	if c.shape == shapeJSONB && c.format == binaryFormat {
		return 1
	}
	return 0
}

// append appends the i-th value of a row, which is not plain, to dst.
func (e *encoder) append(dst []byte, i int, v any) ([]byte, error) {
	c := &e.columns[i]
	if e.omits && isDefault(v) {
		return dst, nil
	}
	if v == nil {
		return binary.BigEndian.AppendUint32(dst, math.MaxUint32), nil // NULL
	}
	if out, ok := c.shape.appendValue(dst, v); ok {
		return out, nil
	}
	start := len(dst)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff)
	if e.lock != nil {
		e.lock.Lock()
		defer e.lock.Unlock()
	}
	out, err := e.encode(c, v, dst)
	if err != nil {
		return dst[:start], err
	}
	if out == nil {
		return dst, nil // NULL
	}
	n := len(out) - start - 4
	if n > maxValue {
		return dst[:start], tooLarge(n)
	}
	binary.BigEndian.PutUint32(out[start:], uint32(n))
	return out, nil
}

// lends reports whether a row has a value that may change, and is so large that flushing the wire
// after the row is cheaper than copying it.
func (e *encoder) lends(row []any) bool {
	for i, v := range row {
		if s, _ := e.columns[i].shape.plain(v); len(s) >= bufferSize/2 && !constant(v) {
			return true
		}
	}
	return false
}

// constant reports whether the bytes of a plain value are a string's, which never change.
func constant(v any) bool {
	switch v.(type) {
	case string, *string:
		return true
	}
	return false
}

// size returns a lower bound of a row's size in bytes, counting only its plain values. It is cheap.
func (e *encoder) size(row []any) int {
	n := 4 * len(row)
	for i, v := range row {
		s, _ := e.columns[i].shape.plain(v)
		n += len(s)
	}
	return n
}

// refers reports whether a chunk refers to the i-th value of a row, whose plain bytes are s. A
// chunk always copies keys, and bytes that may change before it is sent. What is sent at once can
// be large: less of it is copied.
func (e *encoder) refers(i int, s string, v any, sent bool) bool {
	return (sent && len(s) >= minSent || len(s) >= minReferred && constant(v)) && (e.isKey == nil || !e.isKey[i])
}

// encode has the type map append v. The result is nil for NULL.
//
// A value without a binary encoding is text, such as a string for a number. If pgx is known to read
// it as the server does, it is parsed here and the result is encoded.
func (e *encoder) encode(c *column, v any, dst []byte) (out []byte, err error) {
	if raw, ok := v.(rawValue); ok {
		return append(dst, raw.bytes...), nil
	}
	out, err = e.encodeAs(c, c.codecFormat(), v, dst)
	if err != nil && e.either {
		other, otherErr := e.encodeAs(c, 1-c.format, v, dst)
		if otherErr == nil {
			c.format = 1 - c.format
			return other, nil
		}
		return nil, err
	}
	if err == nil || c.codecFormat() != binaryFormat {
		return out, err
	}
	text, ok := e.text(c, v)
	if !ok {
		return nil, err
	}
	if !readsAlike(c.oid, text) {
		return nil, fmt.Errorf("%w: only the server can read %.50q: to send a column as text, make its first value such a text too; after many rows of NULL that needs Strategy Bind", err, text)
	}
	var parsed any
	if scanErr := e.m.Scan(c.oid, textFormat, []byte(text), &parsed); scanErr != nil {
		return nil, fmt.Errorf("%w (as text: %w)", err, scanErr)
	}
	return e.m.Encode(c.oid, binaryFormat, parsed, dst)
}

// text is a value as text, if it has one.
func (e *encoder) text(c *column, v any) (string, bool) {
	if s, null, ok := textOf(v); ok && !null {
		return s, true
	}
	b, err := e.encodeAs(c, textFormat, v, []byte{})
	return string(b), err == nil && b != nil
}

// encodeAs is the type map's Encode. It calls methods of the value's type; if they panic, that is
// an error about the value.
func (e *encoder) encodeAs(c *column, format int16, v any, dst []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("encoding a %T panicked: %v", v, r)
		}
	}()
	if isDefault(v) {
		return nil, errDefault
	}
	return e.m.Encode(c.oid, format, v, dst)
}

func tooLarge(n int) error { return fmt.Errorf("a value of %d bytes: %w", n, ErrTooLarge) }

var errTooMany = errors.New("the row has more or fewer values than there are columns")
