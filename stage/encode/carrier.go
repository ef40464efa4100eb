package encode

import "fmt"

// A carrier is an open codec that encodes and decodes one message at a time.
type carrier[M any] interface {
	encode(i int) ([]byte, error)
	set(i int, m M)
	decode(data []byte) (v any, sum uint64, err error)
	plain(data []byte, m *M) error
	inProtobuf() bool
}

func openCarrier[M any](from []contender[M], name string, messages []M) (module string, c carrier[M], err error) {
	for _, contender := range from {
		if contender.named() == name {
			return contender.carry(messages)
		}
	}
	return "", nil, fmt.Errorf("encode: there is no codec %q", name)
}

func (c *codec[M, V]) named() string { return c.name }

func (c *codec[M, V]) carry(messages []M) (module string, _ carrier[M], err error) {
	if c.check != nil {
		if err := c.check(); err != nil {
			return "", nil, err
		}
	}
	l, err := c.start()
	if err != nil {
		return "", nil, fmt.Errorf("encode: open %s: %w", c.name, err)
	}
	out := &carried[M, V]{codec: c, loops: l}
	out.out = run[M, V]{originals: messages, values: c.values(messages)}
	out.in = run[M, V]{originals: make([]M, 1), inputs: make([][]byte, 1), use: c.form.Read}
	return c.module, out, nil
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
