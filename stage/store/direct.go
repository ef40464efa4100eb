package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	pgproto2 "github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgproto3"

	"postage/lab"
)

// capacity is a new buffer's capacity in bytes.
type capacity struct {
	name  string
	bytes int
}

var capacities = []capacity{{"1KB", 1 << 10}, {"1MB", 1 << 20}, {"20MB", 20 << 20}}

const directBaseline = "lib=pgproto3-v2/start=1KB/buffer=start"

func directCase(w workload) lab.Case {
	c := lab.Case{
		Name:     "Store/op=direct",
		Doc:      "What does it cost to encode one Bind message of 16.5 MB, and how much of that is the buffer that grows?",
		Batch:    20 * time.Millisecond,
		Baseline: directBaseline,
	}
	v2 := func(dst []byte, name string, parameters [][]byte) ([]byte, error) {
		return (&pgproto2.Bind{PreparedStatement: name, Parameters: parameters}).Encode(dst)
	}
	v5 := func(dst []byte, name string, parameters [][]byte) ([]byte, error) {
		return (&pgproto3.Bind{PreparedStatement: name, Parameters: parameters}).Encode(dst)
	}
	for _, start := range capacities {
		c.Contenders = append(c.Contenders, directRow("lib=pgproto3-v2", "github.com/jackc/pgproto3/v2", v2, w, start))
	}
	c.Contenders = append(c.Contenders,
		directRow("lib=pgproto3-v5", pgxModule, v5, w, capacities[0]),
		directRow("lib=pgproto3-v5", pgxModule, v5, w, capacities[2]),
		lab.Contender{
			Name: "floor=memcpy", Floor: true, Checks: "the copy has the bytes of the original",
			Open: func(_ context.Context, env lab.Env) (lab.Instance, error) {
				d := newDirect(w, env.Seed)
				message, err := v2(nil, d.name, d.parameters)
				if err != nil {
					return nil, err
				}
				d.writer = copier(message)
				return copied{d}, nil
			},
		})
	return c
}

// encoder appends a Bind message.
type encoder func(dst []byte, name string, parameters [][]byte) ([]byte, error)

// directRow is the page's case, and what pgconn does: the buffer with the starting capacity is kept,
// and what it grows to is dropped.
func directRow(lib, module string, encode encoder, w workload, start capacity) lab.Contender {
	name := lib + "/start=" + start.name + "/buffer=start"
	return lab.Contender{
		Name: name, Module: module,
		Checks: "the message, taken apart by a reader of ours, has the statement's name, all parameters and no byte more",
		Open: func(_ context.Context, env lab.Env) (lab.Instance, error) {
			d := newDirect(w, env.Seed)
			kept := make([]byte, 0, start.bytes)
			d.writer = &writer{
				close: func() error { return nil },
				write: func() (err error) {
					d.message, err = encode(kept, d.name, d.parameters)
					return err
				},
			}
			return d, nil
		},
	}
}

// direct is a message to encode.
type direct struct {
	name       string // name of the statement
	parameters [][]byte
	message    []byte
	writer     *writer
}

func newDirect(w workload, seed uint64) *direct {
	d := &direct{name: "lrupsc_1_0"} // the form in which pgx v4 names its statements
	for _, row := range w.draw(seed, 1) {
		for _, v := range row {
			d.parameters = append(d.parameters, []byte(v.(string)))
		}
	}
	return d
}

func (d *direct) Prove(context.Context) error {
	// The second message is the one that the kept buffer could corrupt.
	for range 2 {
		clear(d.message)
		if err := d.writer.write(); err != nil {
			return err
		}
		if err := checkBind(d.message, d.name, d.parameters); err != nil {
			return err
		}
	}
	return nil
}

func (d *direct) Run(n int) error {
	for range n {
		if err := d.writer.write(); err != nil {
			return err
		}
	}
	return nil
}

func (d *direct) Close() error { return d.writer.close() }

func (d *direct) Metrics() map[string]float64 {
	return map[string]float64{"encoded-bytes": float64(bindBytes(d.name, d.parameters))}
}

// copied is the floor. copier proves it.
type copied struct{ *direct }

func (c copied) Prove(context.Context) error { return c.writer.write() }

// bindBytes returns the length of the Bind message with the parameters in the text format.
func bindBytes(name string, parameters [][]byte) int {
	n := 1 + 4 + 1 + len(name) + 1 + 2 + 2 + 2
	for _, p := range parameters {
		n += 4 + len(p)
	}
	return n
}

// checkBind parses a Bind message and checks each part; see
// https://www.postgresql.org/docs/current/protocol-message-formats.html.
func checkBind(message []byte, name string, parameters [][]byte) error {
	if got, want := len(message), bindBytes(name, parameters); got != want {
		return fmt.Errorf("the message has %d bytes, want %d", got, want)
	}
	if n := binary.BigEndian.Uint32(message[1:]); message[0] != 'B' || int(n) != len(message)-1 {
		return fmt.Errorf("the message begins with %q and says that it has %d bytes", message[0], n)
	}
	head := append([]byte("\x00"+name+"\x00\x00\x00"), byte(len(parameters)>>8), byte(len(parameters)))
	rest, ok := bytes.CutPrefix(message[5:], head)
	if !ok {
		return fmt.Errorf("the message has another portal, statement, format or number of parameters: % x", message[5:5+len(head)])
	}
	for i, p := range parameters {
		n := int(binary.BigEndian.Uint32(rest))
		if n != len(p) || !bytes.Equal(rest[4:4+n], p) {
			return fmt.Errorf("parameter $%d is wrong", i+1)
		}
		rest = rest[4+n:]
	}
	if !bytes.Equal(rest, []byte{0, 0}) {
		return fmt.Errorf("the message ends with % x", rest)
	}
	return nil
}
