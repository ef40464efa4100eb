package encode

import (
	"context"
	"errors"
	"fmt"
)

// The operations of two programs, the new one of which has more fields in the message.
const (
	opNewer   op = "decode-newer" // the old program, of what the new one wrote
	opOlder   op = "decode-older" // the other way round
	opForward op = "forward"      // the old program passes on what the new one wrote, as a proxy or a queue does
)

// What becomes of the added fields when the old program passes a message on.
const (
	fieldsKept = "kept"
	fieldsLost = "lost: note, tags, the unit of each part"
)

// byOrder is why a format without names or numbers of fields is refused by either program.
const byOrder = "fields are told apart by their order alone: a message that has others is refused"

// passedOn is what the codec declares of the added fields.
func (c *codec[M, V]) passedOn() string {
	if c.keeps {
		return fieldsKept
	}
	return fieldsLost
}

// again returns a loop that decodes a message, reads of it what the run's use does, and encodes
// what the library made of it. The floor passes on the bytes as they came.
func (c *codec[M, V]) again(l loops[M, V]) func(*run[M, V], int) error {
	if c.unread {
		return l.decode
	}
	out := &run[M, V]{originals: make([]M, 1), values: make([]*V, 1)}
	return func(r *run[M, V], n int) error {
		for range n {
			if err := l.decode(r, 1); err != nil {
				return err
			}
			if out.values[0] = r.last; c.build { // such values cannot be encoded: what is known is copied
				if err := c.form.To(r.last, &out.originals[0]); err != nil {
					return err
				}
			}
			if err := l.encode(out, 1); err != nil {
				return err
			}
			r.out = out.out
		}
		return nil
	}
}

// A peer is the other program, which writes with the same codec.
type peer struct {
	inputs [][]byte // its messages, one for each of the program's own
	// finds says what it has of the added fields in its i-th message after that was passed on.
	finds func(i int, data []byte) (string, error)
}

// peerOf returns what makes the peer of a program whose messages are M. as gives the peer's own
// message, and what is left of it without the fields that only one of them knows.
func peerOf[M, P any](k kit[P], as func(*M) (full, left P)) func(name string, own []M) (*peer, error) {
	return func(name string, own []M) (*peer, error) {
		msg := &message[P]{}
		k.describe(msg)
		full, left := make([]P, len(own)), make([]P, len(own))
		for i := range own {
			full[i], left[i] = as(&own[i])
		}
		codec, err := openCarrier(contenders(k, msg), name, full)
		if err != nil {
			return nil, err
		}
		write, read := codec.encode, codec.plain
		if codec.inProtobuf() {
			write, read = func(i int) ([]byte, error) { return k.marshal(&full[i]) }, k.unmarshal
		}
		p := &peer{inputs: make([][]byte, len(own))}
		for i := range own {
			data, err := write(i)
			if err != nil {
				return nil, fmt.Errorf("the other program's message: %w", err)
			}
			p.inputs[i] = append(make([]byte, 0, len(data)), data...)
		}
		p.finds = func(i int, data []byte) (string, error) {
			var got P
			if err := read(data, &got); err != nil {
				return "", err
			}
			differs := msg.diff(&got, &full[i])
			switch {
			case differs == "":
				return fieldsKept, nil
			case msg.diff(&got, &left[i]) == "":
				return fieldsLost, nil
			}
			return "", errors.New(differs)
		}
		return p, nil
	}
}

// proveForward passes the corpus on with Run. The peer reads what it gets back, protobuf's format
// by protobuf.
func (in *instance[M, V]) proveForward(ctx context.Context) error {
	for i := range in.run.originals {
		if err := ctx.Err(); err != nil {
			return err
		}
		scribble(in.run.out[:cap(in.run.out)])
		original := &in.run.originals[i]
		in.run.last = nil
		before := in.run.sum
		if err := in.Run(1); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		found, err := in.peer.finds(i, in.run.out)
		if err != nil {
			return fmt.Errorf("message %d: what was passed on: %w", i, err)
		}
		if want := in.codec.passedOn(); found != want {
			return fmt.Errorf("message %d: the added fields are declared %q, but are %q", i, want, found)
		}
		if err := in.same(in.run.last, original); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		want, err := in.msg.some(original, original)
		if err != nil {
			return err
		}
		if got := in.run.sum - before; got != want && !in.codec.unread {
			return fmt.Errorf("message %d: fields read sum up to %d, want %d", i, got, want)
		}
	}
	return nil
}
