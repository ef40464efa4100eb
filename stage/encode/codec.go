package encode

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"postage/lab"
	"postage/stage/encode/internal/bind"
)

// An op is one of the operations that contenders are compared in.
type op string

const (
	opEncode   op = "encode"
	opKept     op = "encode-kept" // a brought message's, whose opEncode returns fresh bytes
	opDecode   op = "decode"
	opReuse    op = "decode-reuse"
	opValidate op = "validate"
	opSome     op = "read-some"
)

// A codec is one contender's way to encode and decode one message. M is the message's plain struct,
// V the type that the contender's library uses.
type codec[M, V any] struct {
	name     string            // "codec=vtprotobuf", with the settings that a reader must know
	module   string            // path of the Go module that does the work
	settings map[string]string // more settings, for readers of the record
	form     bind.Form[M, V]
	can      []op // operations that have rows; others that decode go with decode
	// impossible says why an operation has no row.
	impossible map[op]string
	// protobuf says that the bytes are in protobuf's wire format. The proof exchanges them with
	// protobuf, and all decoders get the bytes that protobuf made.
	protobuf bool
	// build says that encoding starts from the plain struct. The library has no values of its own,
	// so the form has no From.
	build bool
	// alias says that decoded values share memory with their input. The names of decoding rows say
	// it too.
	alias bool
	// damage says what decoding a damaged message does; see the constants.
	damage damage
	// loses names the values that do not survive, as observeLosses does.
	loses string
	// utf8 says what decoding does with text that is not UTF-8: "error", "kept" or "replaced".
	utf8  string
	floor bool
	// keeps says that encoding leaves the bytes in memory of the codec's own, until the next message.
	keeps bool
	// unread says that decoding reads no fields. Only floors have it.
	unread bool
	// check, if set, is called first in the proof. It checks that the library is what the row says.
	check func() error
	// reopen says that the loops must be made again after a failed decode.
	reopen bool
	loops  loops[M, V]
	// open makes the loops if they keep something between runs.
	open func() (loops[M, V], error)
}

// loops are the timed regions. Each does n operations on the run's next messages.
type loops[M, V any] struct {
	encode func(r *run[M, V], n int) error // leaves the bytes in r.out
	// fresh leaves bytes there that no buffer is kept for. If it is nil, encode does, without r.out.
	fresh  func(r *run[M, V], n int) error
	decode func(r *run[M, V], n int) error // leaves each value in r.last and calls r.took
	// reuse is the loop of decode-reuse. If it is nil, decode is used, and r.into returns the kept
	// value.
	reuse func(r *run[M, V], n int) error
}

// decoder returns the loop that decodes for an operation.
func (l *loops[M, V]) decoder(o op) func(r *run[M, V], n int) error {
	if o == opReuse && l.reuse != nil {
		return l.reuse
	}
	return l.decode
}

// decodeBy returns a decoding loop for a library whose function is known only at run time. A call
// through a pointer is normal use of such a library.
func decodeBy[M, V any, P interface{ *V }](unmarshal func(P, []byte) error) func(*run[M, V], int) error {
	return func(r *run[M, V], n int) error {
		for range n {
			if err := unmarshal(r.into(), r.input()); err != nil {
				return err
			}
			if err := r.took(); err != nil {
				return err
			}
		}
		return nil
	}
}

// encodeBy returns an encoding loop. marshal encodes into buf if the library can.
func encodeBy[M, V any, P interface{ *V }](marshal func(buf []byte, v P) ([]byte, error)) func(*run[M, V], int) error {
	return func(r *run[M, V], n int) (err error) {
		for range n {
			if r.out, err = marshal(r.out[:0], r.value()); err != nil {
				return err
			}
		}
		return nil
	}
}

// A run is the data that loops work on. Its methods are small enough to be inlined.
type run[M, V any] struct {
	originals []M      // the corpus; its length is a power of two
	values    []*V     // the corpus in the library's form, for encode
	inputs    [][]byte // the encoded corpus, for the other operations
	next      int
	from      *M                           // the original of the last input
	keep      bool                         // decode each value over the previous one
	use       func(*V, *M) (uint64, error) // reads or compares a decoded value

	out  []byte // the last encoded message
	last *V     // the last decoded value
	sum  uint64 // of use's results
}

// value returns the next value to encode.
func (r *run[M, V]) value() *V {
	v := r.values[r.next&(len(r.values)-1)]
	r.next++
	return v
}

// original returns the next message to encode, as a plain struct.
func (r *run[M, V]) original() *M {
	m := &r.originals[r.next&(len(r.originals)-1)]
	r.next++
	return m
}

// input returns the next message to decode.
func (r *run[M, V]) input() []byte {
	i := r.next & (len(r.inputs) - 1)
	r.next++
	r.from = &r.originals[i]
	return r.inputs[i]
}

// into returns the value to decode the input into.
func (r *run[M, V]) into() *V {
	if !r.keep || r.last == nil {
		r.last = new(V)
	}
	return r.last
}

// took passes the decoded value to the case's use.
func (r *run[M, V]) took() error {
	n, err := r.use(r.last, r.from)
	r.sum += n
	return err
}

// room returns r.out with length n. It grows it if necessary.
func (r *run[M, V]) room(n int) []byte {
	if cap(r.out) < n {
		r.out = make([]byte, n)
	}
	return r.out[:n]
}

// A message describes one kind of message for all its contenders.
type message[M any] struct {
	name     string
	doc      string
	headline bool
	ops      []op // the operations that have a case
	draw     func(*rand.Rand) M
	// prepare, if set, is called before a contender is opened. It reads samples, which replace the
	// drawn corpus.
	prepare func() error
	samples []M
	count   int    // number of messages in the corpus, a power of two
	scalar  bool   // no strings or bytes could share memory with the input
	now     string // for a brought message: the codec that the user has today
	// foreign says that M is a type from the user's code. The proof compares decoded values, but no
	// generated code reads them. Nothing is known about memory that M's own methods share with
	// their input.
	foreign bool
	// edges and text, if set, make messages with rare values, for the proof of decoders.
	edges func() []edge[M]
	text  func(text string) (M, func(*M) string)
	diff  func(got, want *M) string
	read  func(v, m *M) (uint64, error)
	some  func(v, m *M) (uint64, error) // of two fields
	// marshal and unmarshal are protobuf's own functions, the reference for its wire format.
	marshal   func(m *M) ([]byte, error)
	unmarshal func(data []byte, m *M) error
}

// A contender is a codec without its type parameter for the library's form.
type contender[M any] interface {
	// rows returns the contender's rows in the message's case for an operation.
	rows(msg *message[M], o op) []lab.Contender
	// packCase returns the case of its bytes compressed, nil if it has none.
	packCase(msg *message[M]) *lab.Case
	// fresh returns the contender that encodes into fresh bytes, nil if it cannot.
	fresh() contender[M]
	// named is the codec's name, and carry opens it for other stages.
	named() string
	carry(messages []M) (carrier[M], error)
}

func (c *codec[M, V]) rows(msg *message[M], o op) []lab.Contender {
	name := c.name
	if c.alias && o != opEncode {
		name += "/alias=yes"
	}
	row := lab.Contender{
		Name:     name,
		Floor:    c.floor,
		Module:   c.module,
		Settings: c.settings,
		Checks:   cmp.Or(checks[o], checks[opDecode]),
	}
	if msg.foreign {
		row.Checks = "what is encoded and decoded again is the original, in every value of every sample"
	}
	if why, ok := c.impossible[o]; ok {
		row.NotPossible, row.Checks = why, ""
		return []lab.Contender{row}
	}
	if !c.does(o) {
		return nil
	}
	if o != opEncode && !c.unread && !msg.foreign {
		row.Properties = map[string]string{"corrupted-input": c.damage.String()}
		if msg.edges != nil && o == opDecode {
			row.Properties["loses"] = cmp.Or(c.loses, nothing)
			row.Properties["invalid-utf8"] = c.utf8
		}
	}
	row.Open = func(_ context.Context, env lab.Env) (lab.Instance, error) {
		in, err := newInstance(c, msg, o, env.Seed)
		if err != nil {
			return nil, fmt.Errorf("encode: %s: %w", msg.name, err)
		}
		return in, nil
	}
	return []lab.Contender{row}
}

func (c *codec[M, V]) does(o op) bool {
	return slices.Contains(c.can, o) || o != opEncode && o != opReuse && slices.Contains(c.can, opDecode)
}

// checks says what each operation's proof checks. Other operations have decode's.
var checks = map[op]string{
	opEncode:   "what was encoded decodes to the original, for every message of the corpus; protobuf agrees where the format is its own",
	opDecode:   "every field of every message of the corpus is the original's and was read; input memory is shared, and damaged input refused, only as declared",
	opValidate: "every comparison of the timed loop finds the original, and decoding alone passes decode's proof",
	opSome:     "the sum over the two fields is the original's, and the value passes decode's proof",
	opReuse:    "as decode, with each message decoded over the one before it",
}

// An instance is an open codec in one case.
type instance[M, V any] struct {
	codec *codec[M, V]
	msg   *message[M]
	op    op
	loops loops[M, V]
	loop  func(*run[M, V], int) error
	run   run[M, V]
	bytes float64 // mean encoded size in bytes
}

func newInstance[M, V any](c *codec[M, V], msg *message[M], o op, seed uint64) (*instance[M, V], error) {
	if msg.prepare != nil {
		if err := msg.prepare(); err != nil {
			return nil, err
		}
	}
	loops, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	in := &instance[M, V]{codec: c, msg: msg, op: o, loops: loops}
	in.run.originals = msg.corpus(seed)
	if o == opEncode {
		in.loop = loops.encode
		in.run.values = c.values(in.run.originals)
		return in, nil
	}
	in.loop, in.run.keep, in.run.use = loops.decoder(o), o == opReuse, c.form.Read
	switch {
	case o == opValidate:
		in.run.use = c.form.Same
	case o == opSome && !c.unread:
		in.run.use = c.form.Some
	}
	if in.run.inputs, err = in.encoded(in.run.originals); err != nil {
		return nil, err
	}
	in.bytes = meanLen(in.run.inputs)
	return in, nil
}

func (c *codec[M, V]) fresh() contender[M] {
	if c.keeps {
		return nil
	}
	fresh := *c
	fresh.settings = map[string]string{}
	maps.Copy(fresh.settings, c.settings)
	fresh.settings["buffer"] = "fresh"
	fresh.open = func() (loops[M, V], error) {
		made, err := c.start()
		encode := made.encode
		made.encode = made.fresh
		if made.fresh == nil {
			made.encode = func(r *run[M, V], n int) error {
				for range n {
					r.out = nil
					if err := encode(r, 1); err != nil {
						return err
					}
				}
				return nil
			}
		}
		return made, err
	}
	return &fresh
}

// start returns the codec's loops.
func (c *codec[M, V]) start() (loops[M, V], error) {
	if c.open == nil {
		return c.loops, nil
	}
	return c.open()
}

// values returns messages in the codec's form, nil if the codec builds them while it encodes.
func (c *codec[M, V]) values(messages []M) []*V {
	if c.build || c.form.From == nil {
		return nil
	}
	values := make([]*V, len(messages))
	for i := range messages {
		values[i] = c.form.From(&messages[i])
	}
	return values
}

// encoded returns messages in the codec's encoding, each in memory of its own. Protobuf's own
// functions encode its wire format.
func (in *instance[M, V]) encoded(messages []M) ([][]byte, error) {
	if !in.codec.protobuf {
		return in.encode(messages)
	}
	inputs := make([][]byte, len(messages))
	for i := range messages {
		var err error
		if inputs[i], err = in.msg.marshal(&messages[i]); err != nil {
			return nil, fmt.Errorf("encode the corpus by protobuf: %w", err)
		}
	}
	return inputs, nil
}

// encode returns messages encoded by the codec, each in memory of its own.
func (in *instance[M, V]) encode(messages []M) ([][]byte, error) {
	inputs := make([][]byte, len(messages))
	r := &run[M, V]{originals: messages, values: in.codec.values(messages)}
	for i := range messages {
		if err := in.loops.encode(r, 1); err != nil {
			return nil, fmt.Errorf("encode the corpus: %w", err)
		}
		inputs[i] = append(make([]byte, 0, len(r.out)), r.out...)
	}
	return inputs, nil
}

func (in *instance[M, V]) Run(n int) error {
	before := in.run.sum
	if err := in.loop(&in.run, n); err != nil {
		return err
	}
	if in.op == opValidate && in.run.sum-before != uint64(n) {
		return fmt.Errorf("encode: %s: %d of %d decoded messages differ from the original", in.msg.name, uint64(n)-(in.run.sum-before), n)
	}
	return nil
}

// Metrics returns the mean size of the corpus's encoded messages, in bytes.
func (in *instance[M, V]) Metrics() map[string]float64 {
	return map[string]float64{"encoded-bytes": in.bytes}
}

func (in *instance[M, V]) Close() error { return nil }

func meanLen(messages [][]byte) float64 {
	total := 0
	for _, m := range messages {
		total += len(m)
	}
	return float64(total) / float64(len(messages))
}
