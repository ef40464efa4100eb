package encode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Traffic is a message that other stages send.
type Traffic struct {
	Name      string // in cases' names, "" for orders
	One, Many string // in sentences
	// Codecs are the codecs to compare, the best of each family. Usual is the codec that most
	// services have, or the user's own. Best beats the others of its family.
	Codecs      []string
	Usual, Best string
	Lost        map[string]string // codecs that cannot hold the messages, and why
	Largest     int               // about the size of the largest message, in bytes, 0 if it is small
	// Open opens a codec by its rows' name. The messages are drawn from the seed, for a column of
	// this type.
	Open func(codec, column string, seed uint64) (Messages, error)
}

// families are the best codecs of each family.
var families = []string{"codec=json", baseline, "codec=vtprotobuf", "codec=pbfast", "codec=msgp", "codec=jsonv2", "codec=sonic/config=default"}

// Messages are one codec at both ends of a service that takes messages and answers with receipts.
// Only one goroutine at a time may use them. Message Len is message 0 again.
type Messages interface {
	// Len is the number of messages with keys of their own, a power of two.
	Len() int
	// Bytes is the mean size of encoded messages.
	Bytes() int
	// Encode returns the i-th message's bytes, which the next call overwrites.
	Encode(i int) ([]byte, error)
	// Types are the types of a row's columns: the key's first, the message's last.
	Types() []string
	// Key is the i-th message's key. Sum is the sum over all its fields that Decode returns.
	Key(i int) int64
	Sum(i int) uint64
	// Decode decodes the i-th message into a fresh value, reads every field, and sets the row. The
	// row may share memory with the data.
	Decode(i int, data []byte, row []any) (sum uint64, err error)
	// Differs returns an error if this row is not the i-th message's. Another reader decodes it:
	// protobuf, encoding/json or, for other formats, the codec opened again.
	Differs(i int, row []any) error
	// EncodeReceipt returns a receipt's bytes, which the next call overwrites. CheckReceipt returns
	// an error if the bytes are not the receipt for these messages.
	EncodeReceipt(sum uint64, messages int) ([]byte, error)
	CheckReceipt(data []byte, sum uint64, messages int) error
}

// A layout says what a message's row has: the key, an int8; then what it is looked up by; and last
// the message.
type layout struct {
	types []string // the columns' types in PostgreSQL
	// row sets the row of the i-th message, v, which was decoded from data.
	row func(i int, v any, data []byte, row []any) error
}

// A mail is a message's [Messages] without the receipts.
type mail[M any] struct {
	carrier[M]
	layout
	again   carrier[M] // for the proof: opened again, so that it knows no other message
	message *message[M]
	corpus  []M
	sums    []uint64
	bytes   int
	keys    int
}

// Few messages are sent again under other keys, so that a request of 100 has a key for each, unless
// the messages are too large.
const (
	enoughKeys = 256
	mostKeyed  = 64 << 20
)

func openMail[M any](msg *message[M], rows []contender[M], codec string, seed uint64, rowed layout) (*mail[M], error) {
	m := &mail[M]{message: msg, corpus: msg.corpus(seed), layout: rowed}
	var err error
	if m.carrier, err = openCarrier(rows, codec, m.corpus); err != nil {
		return nil, err
	}
	if m.again, err = openCarrier(rows, codec, nil); err != nil {
		return nil, err
	}
	total := 0
	for i := range m.corpus {
		data, err := m.encode(i)
		if err != nil {
			return nil, fmt.Errorf("encode: message %d: %w", i, err)
		}
		sum, err := msg.read(&m.corpus[i], &m.corpus[i])
		if err != nil {
			return nil, err
		}
		total, m.sums = total+len(data), append(m.sums, sum)
	}
	m.bytes = total / len(m.corpus)
	for m.keys = len(m.corpus); m.keys < enoughKeys && 2*m.keys*m.bytes <= mostKeyed; {
		m.keys *= 2
	}
	return m, nil
}

func (m *mail[M]) index(i int) int { return i & (len(m.corpus) - 1) }

func (m *mail[M]) Len() int                     { return m.keys }
func (m *mail[M]) Bytes() int                   { return m.bytes }
func (m *mail[M]) Encode(i int) ([]byte, error) { return m.encode(m.index(i)) }
func (m *mail[M]) Sum(i int) uint64             { return m.sums[m.index(i)] }

func (m *mail[M]) Types() []string { return m.types }

func (m *mail[M]) Key(i int) int64 {
	row, _ := m.want(i)
	return row[0].(int64)
}

// want returns the i-th message's row.
func (m *mail[M]) want(i int) ([]any, error) {
	row := make([]any, len(m.types))
	return row, m.row(i&(m.keys-1), &m.corpus[m.index(i)], nil, row)
}

func (m *mail[M]) Decode(i int, data []byte, row []any) (sum uint64, err error) {
	v, sum, err := m.decode(data)
	if err != nil {
		return 0, err
	}
	if data == nil {
		data = []byte{} // the message is empty, not missing
	}
	return sum, m.row(i&(m.keys-1), v, data, row)
}

func (m *mail[M]) Differs(i int, row []any) error {
	want, err := m.want(i)
	last := len(row) - 1
	if err == nil && !slices.Equal(row[:last], want[:last]) {
		err = fmt.Errorf("its columns are %v, want %v", row[:last], want[:last])
	}
	if err != nil {
		return err
	}
	data, _ := row[last].([]byte)
	var got M
	switch {
	case m.inProtobuf():
		err = m.message.unmarshal(data, &got)
	case m.inPlain() && len(data) > 0 && data[0] == '{' && json.Valid(data):
		err = json.Unmarshal(data, &got)
	default:
		err = m.again.plain(data, &got)
	}
	if err != nil {
		return err
	}
	if d := m.message.diff(&got, &m.corpus[m.index(i)]); d != "" {
		return errors.New(d)
	}
	return nil
}

// A carrier is an open codec for one message at a time.
type carrier[M any] interface {
	encode(i int) ([]byte, error)
	set(i int, m M)
	decode(data []byte) (v any, sum uint64, err error)
	plain(data []byte, m *M) error
	inProtobuf() bool
	inPlain() bool // its values are the plain structs, or the user's
}

func openCarrier[M any](from []contender[M], name string, messages []M) (carrier[M], error) {
	for _, contender := range from {
		if contender.named() == name {
			return contender.carry(messages)
		}
	}
	return nil, fmt.Errorf("encode: there is no codec %q", name)
}

func (c *codec[M, V]) named() string { return c.name }

func (c *codec[M, V]) carry(messages []M) (carrier[M], error) {
	if c.check != nil {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	l, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("encode: open %s: %w", c.name, err)
	}
	out := &carried[M, V]{codec: c, loops: l}
	out.out = run[M, V]{originals: messages, values: c.values(messages)}
	out.in = run[M, V]{originals: make([]M, 1), inputs: make([][]byte, 1), use: c.form.Read}
	return out, nil
}

type carried[M, V any] struct {
	codec   *codec[M, V]
	loops   loops[M, V]
	out, in run[M, V]
}

func (c *carried[M, V]) encode(i int) ([]byte, error) {
	c.out.next = i
	err := c.loops.encode(&c.out, 1)
	return c.out.out, err
}

func (c *carried[M, V]) set(i int, m M) {
	c.out.originals[i] = m
	if c.out.values != nil {
		c.out.values[i] = c.codec.form.From(&c.out.originals[i])
	}
}

func (c *carried[M, V]) decode(data []byte) (any, uint64, error) {
	before := c.in.sum
	c.in.next, c.in.inputs[0] = 0, data
	err := c.loops.decode(&c.in, 1)
	return c.in.last, c.in.sum - before, err
}

func (c *carried[M, V]) plain(data []byte, m *M) error {
	if _, _, err := c.decode(data); err != nil {
		return err
	}
	return c.codec.form.To(c.in.last, m)
}

func (c *carried[M, V]) inProtobuf() bool { return c.codec.protobuf }

func (c *carried[M, V]) inPlain() bool {
	_, is := any(new(V)).(*M)
	return is
}
