package route

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"postage/stage/encode"
	"postage/stage/seal"
)

// A work is what a row does: a way of messages drawn from the seed, and which of the way's steps
// are done each time. What the others make was made beforehand.
type work struct {
	Way  way
	Msgs int // in a request
	Seed uint64
	Live []step
}

func (w *work) does(s step) bool { return slices.Contains(w.Live, s) }

// An end is what the client and the server have alike: the codec, the compression, and requests
// that were made beforehand, in the order in which they are sent, if some step is not done.
type end struct {
	work         work
	messages     encode.Messages
	pack, unpack func([]byte) ([]byte, error) // nil for none
	next, taken  int                          // the next message to encode, and to decode
	frames       []byte
	rows         [][]any // of the request that was decoded last
	made         []request
	calls        int64
}

// request is one that was made beforehand, with its receipt and its messages' rows.
type request struct {
	body, wire, receipt []byte
	sum                 uint64
	rows                [][]any
}

func newEnd(traffic encode.Traffic, w work) (*end, error) {
	e := &end{work: w}
	var err error
	if e.messages, err = traffic.Open(w.Way.Codec, w.Way.column(), w.Seed); err != nil {
		return nil, err
	}
	if w.Way.Pack == sealed {
		e.pack, e.unpack, err = seal.OpenStrict(w.Seed)
	} else {
		e.pack, e.unpack, err = encode.OpenPacker(w.Way.Pack)
	}
	if err != nil {
		return nil, err
	}
	for range w.Msgs {
		e.rows = append(e.rows, make([]any, len(e.messages.Types())))
	}
	if len(w.Live) < len(w.Way.steps()) {
		err = e.make()
	}
	return e, err
}

// make makes requests: together they have every message at least once.
func (e *end) make() error {
	for range max(8, e.messages.Len()/e.work.Msgs) {
		body, sum, err := e.encode()
		if err != nil {
			return err
		}
		r := request{body: bytes.Clone(body), sum: sum}
		r.wire = r.body
		if e.pack != nil {
			wire, err := e.pack(r.body)
			if err != nil {
				return err
			}
			r.wire = bytes.Clone(wire)
		}
		receipt, err := e.messages.EncodeReceipt(sum, e.work.Msgs)
		if err != nil {
			return err
		}
		r.receipt = bytes.Clone(receipt)
		if _, err := e.decode(r.body); err != nil {
			return err
		}
		for _, row := range e.rows {
			r.rows = append(r.rows, slices.Clone(row))
		}
		e.made = append(e.made, r)
	}
	e.next, e.taken = 0, 0
	return nil
}

// beforehand is the next request that was made beforehand, nil if none was.
func (e *end) beforehand() *request {
	e.calls++
	if e.made == nil {
		return nil
	}
	return &e.made[(e.calls-1)%int64(len(e.made))]
}

// encode makes the next request before it is compressed: a message, or several with their lengths
// before them. sum is over every field of them. The next call overwrites it.
func (e *end) encode() (body []byte, sum uint64, err error) {
	e.frames = e.frames[:0]
	for range e.work.Msgs {
		sum += e.messages.Sum(e.next)
		data, err := e.messages.Encode(e.next)
		e.next++
		if err != nil {
			return nil, 0, err
		}
		if e.work.Msgs == 1 {
			return data, sum, nil
		}
		e.frames = binary.BigEndian.AppendUint32(e.frames, uint32(len(data)))
		e.frames = append(e.frames, data...)
	}
	return e.frames, sum, nil
}

// decode decodes a request's messages, reads every field, and makes a row of each. The rows are
// good until the next call, and share memory with the body. sum is over every field.
func (e *end) decode(body []byte) (sum uint64, err error) {
	for i := range e.work.Msgs {
		data := body
		if e.work.Msgs > 1 {
			if len(body) < 4 || uint64(len(body)-4) < uint64(binary.BigEndian.Uint32(body)) {
				return 0, fmt.Errorf("the request ends in message %d of %d", i+1, e.work.Msgs)
			}
			end := 4 + binary.BigEndian.Uint32(body)
			data, body = body[4:end], body[end:]
		}
		one, err := e.messages.Decode(e.taken, data, e.rows[i])
		if err != nil {
			return 0, fmt.Errorf("message %d of the request: %w", i+1, err)
		}
		e.taken++
		sum += one
	}
	if e.work.Msgs > 1 && len(body) > 0 {
		return 0, errors.New("the request has more than its messages")
	}
	return sum, nil
}
