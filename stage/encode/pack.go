package encode

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"postage/lab"
	"postage/record"
)

// opPack encodes and compresses, then decompresses, decodes and reads every field. Each codec has a
// case of its own; the baseline sends the encoded message as it is.
const opPack op = "pack"

const packBaseline = "pack=none"

// packed are the codecs that have a case: one binary and one text format. Compressing costs the same
// whichever library made the bytes. A brought message also has the user's current codec.
var packed = []string{baseline, "codec=json"}

// A packer compresses and decompresses into dst, which it grows if necessary. It keeps what it
// needs from one message to the next.
type packer struct {
	pack, unpack func(dst, src []byte) ([]byte, error)
}

func (c *codec[M, V]) packCase(msg *message[M]) *lab.Case {
	if c.floor || !c.does(opEncode) || !c.does(opDecode) || c.name != msg.now && !slices.Contains(packed, c.name) {
		return nil
	}
	out := &lab.Case{
		Name:     "Encode/msg=" + msg.name + "/op=" + string(opPack) + "/" + c.name,
		Doc:      "What does it cost to encode " + msg.doc + " and to compress it, then to decompress and decode it and to read every field?",
		Baseline: packBaseline,
	}
	if msg.foreign {
		out.Doc = "What does it cost to encode " + msg.doc + ", to compress it, and to turn it back?"
	}
	for _, how := range compressions {
		row := lab.Contender{
			Name:     how.name,
			Module:   how.module,
			Settings: how.settings,
			Checks:   "what another reader unpacks is what was encoded, and every field of every message is the original's and was read",
			Open: func(_ context.Context, env lab.Env) (lab.Instance, error) {
				in, err := newPacking(c, msg, how, env.Seed)
				if err != nil {
					return nil, fmt.Errorf("encode: %s: %w", msg.name, err)
				}
				return in, nil
			},
		}
		if msg.foreign {
			row.Checks = "what another reader unpacks is what was encoded, and every message is the original's"
		}
		out.Contenders = append(out.Contenders, row)
	}
	return out
}

// A packing is an open codec with a compression.
type packing[M, V any] struct {
	in          *instance[M, V] // encodes
	back        run[M, V]       // decodes
	how         compression
	packer      packer
	wire, plain []byte // the last packed message, and the last unpacked one
	wireBytes   float64
}

func newPacking[M, V any](c *codec[M, V], msg *message[M], how compression, seed uint64) (*packing[M, V], error) {
	in, err := newInstance(c, msg, opEncode, seed)
	if err != nil {
		return nil, err
	}
	p := &packing[M, V]{in: in, how: how}
	p.back = run[M, V]{originals: in.run.originals, inputs: make([][]byte, len(in.run.originals)), use: c.form.Read}
	if p.packer, err = how.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", how.name, err)
	}
	return p, nil
}

// Run packs and unpacks n messages.
func (p *packing[M, V]) Run(n int) error {
	in, back := p.in, &p.back
	for range n {
		i := in.run.next & (len(back.inputs) - 1)
		err := in.loops.encode(&in.run, 1)
		if err != nil {
			return err
		}
		data := in.run.out
		if p.packer.pack != nil {
			if p.wire, err = p.packer.pack(p.wire, data); err != nil {
				return err
			}
			if p.plain, err = p.packer.unpack(p.plain, p.wire); err != nil {
				return err
			}
			data = p.plain
		}
		back.inputs[i], back.next = data, i
		if err := in.loops.decode(back, 1); err != nil {
			return err
		}
	}
	return nil
}

// Prove implements [postage/lab.Instance].
func (p *packing[M, V]) Prove(ctx context.Context) error {
	if check := p.in.codec.check; check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	reader, err := p.how.open()
	if err != nil {
		return err
	}
	plain, wire := 0, 0
	p.in.run.next = 0
	for i := range p.in.run.originals {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, b := range [][]byte{p.in.run.out, p.wire, p.plain} {
			scribble(b[:cap(b)])
		}
		original := &p.in.run.originals[i]
		p.back.last = nil
		before := p.back.sum
		if err := p.Run(1); err != nil {
			return fmt.Errorf("pack: message %d: %w", i, err)
		}
		if err := p.in.same(p.back.last, original); err != nil {
			return fmt.Errorf("pack: message %d: %w", i, err)
		}
		want, err := p.in.msg.read(original, original)
		if err != nil {
			return err
		}
		if got := p.back.sum - before; got != want {
			return fmt.Errorf("pack: message %d: fields read sum up to %d, want %d: not every field was read", i, got, want)
		}
		plain += len(p.in.run.out)
		if reader.unpack == nil {
			wire += len(p.in.run.out)
			continue
		}
		wire += len(p.wire)
		got, err := reader.unpack(nil, p.wire)
		if err != nil {
			return fmt.Errorf("pack: message %d: another reader: %w", i, err)
		}
		if !bytes.Equal(got, p.in.run.out) {
			return fmt.Errorf("pack: message %d: another reader unpacks something else", i)
		}
	}
	p.in.run.next = 0
	p.in.bytes = float64(plain) / float64(len(p.in.run.originals))
	p.wireBytes = float64(wire) / float64(len(p.in.run.originals))
	return nil
}

// Metrics returns mean sizes in bytes before and after packing.
func (p *packing[M, V]) Metrics() map[string]float64 {
	return map[string]float64{record.EncodedBytes: p.in.bytes, record.PackedBytes: p.wireBytes}
}

func (p *packing[M, V]) Close() error { return nil }

// leavePacked is a suite's Choose that leaves out packed messages, unless a pattern names them.
func leavePacked(c *lab.Choice) error { return leaveOut(c, opPack) }

// leaveOut leaves out the cases of operations that no pattern names.
func leaveOut(c *lab.Choice, operations ...op) error {
	var without []string
	for _, o := range operations {
		asked := func(pattern string) bool { return pattern == lab.All || strings.Contains(pattern, string(o)) }
		if c.Resumed || slices.ContainsFunc(c.Patterns, asked) {
			continue
		}
		rows := len(c.Entries)
		c.Entries = slices.DeleteFunc(c.Entries, func(e lab.Entry) bool { return record.KeysOf(e.Case.Name).Get("op") == string(o) })
		if len(c.Entries) < rows {
			without = append(without, "op="+string(o))
		}
	}
	if without != nil {
		c.Note = "encode: not measured unless it is named: " + strings.Join(without, ", ")
	}
	return nil
}
