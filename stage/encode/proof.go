package encode

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
)

// damage says what decoding a damaged message does. Larger is worse.
type damage int

const (
	// refused: every truncated message is an error, and no changed bit causes a panic. A changed
	// bit may go unnoticed: none of the formats has a checksum.
	damageRefused damage = iota
	// partly: some truncated messages are accepted, and none causes a panic. Formats with optional
	// fields do this: a message that is cut after a field is a message.
	damagePartly
	// panics: some damaged messages cause a panic.
	damagePanics
	// unbounded: some changed bits make it allocate whatever a damaged length asks for. That can be
	// far more than the message is long, and can end the process. It is not safe to prove this
	// here: a test does, and Prove decodes truncated messages only.
	damageUnbounded
)

// allocationLimit is the most that decoding a message of up to a megabyte may allocate, and
// allocationFactor, times its length, of a larger one.
const (
	allocationLimit  = 64 << 20
	allocationFactor = 64
)

func (d damage) String() string {
	return [...]string{"error", "partly", "panics", "unbounded-memory"}[d]
}

// Prove implements [postage/lab.Instance].
func (in *instance[M, V]) Prove(ctx context.Context) error {
	if check := in.codec.check; check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	in.run.next = 0
	var err error
	switch in.op {
	case opEncode:
		err = in.proveEncode(ctx)
	default:
		err = in.proveDecode(ctx)
	}
	in.run.next = 0
	if err != nil {
		return fmt.Errorf("%s: %w", in.op, err)
	}
	return nil
}

// proveEncode encodes the corpus with Run, then decodes and compares the result.
func (in *instance[M, V]) proveEncode(ctx context.Context) error {
	back := &run[M, V]{use: in.codec.form.Read, inputs: make([][]byte, 1), originals: make([]M, 1)}
	total := 0
	for i := range in.run.originals {
		if err := ctx.Err(); err != nil {
			return err
		}
		scribble(in.run.out[:cap(in.run.out)])
		if err := in.Run(1); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		total += len(in.run.out)
		original := &in.run.originals[i]
		if in.codec.protobuf {
			var got M
			if err := in.msg.unmarshal(in.run.out, &got); err != nil {
				return fmt.Errorf("message %d: protobuf cannot decode it: %w", i, err)
			}
			if d := in.msg.diff(&got, original); d != "" {
				return fmt.Errorf("message %d: protobuf decodes it to something else: %s", i, d)
			}
		}
		if in.loops.decode == nil {
			continue
		}
		back.inputs[0], back.originals[0] = in.run.out, *original
		if err := in.loops.decode(back, 1); err != nil {
			return fmt.Errorf("message %d: decode what was encoded: %w", i, err)
		}
		if err := in.same(back.last, original); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	in.bytes = float64(total) / float64(len(in.run.originals))
	return nil
}

// proveDecode decodes the corpus with Run, then checks how the decoder treats its input.
func (in *instance[M, V]) proveDecode(ctx context.Context) error {
	for i := range in.run.originals {
		if err := ctx.Err(); err != nil {
			return err
		}
		original := &in.run.originals[i]
		if in.op != opReuse { // reuse decodes over the last value
			in.run.last = nil
		}
		before := in.run.sum
		if err := in.Run(1); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if in.run.last == nil {
			return fmt.Errorf("message %d: nothing was decoded", i)
		}
		if err := in.same(in.run.last, original); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if in.op == opValidate || in.codec.unread || in.msg.foreign {
			continue
		}
		read := in.msg.read
		if in.op == opSome {
			read = in.msg.some
		}
		want, err := read(original, original)
		if err != nil {
			return err
		}
		if got := in.run.sum - before; got != want {
			return fmt.Errorf("message %d: fields read sum up to %d, want %d: not every field was read", i, got, want)
		}
	}
	if in.codec.unread || in.msg.foreign {
		return nil
	}
	if err := in.proveOwnership(); err != nil {
		return err
	}
	if err := in.proveEdges(); err != nil {
		return err
	}
	return in.proveDamage(ctx)
}

// same compares a decoded value with the original, as plain structs.
func (in *instance[M, V]) same(v *V, original *M) error {
	var got M
	if err := in.codec.form.To(v, &got); err != nil {
		return fmt.Errorf("read what was decoded: %w", err)
	}
	if d := in.msg.diff(&got, original); d != "" {
		return fmt.Errorf("decoded to something else: %s", d)
	}
	return nil
}

// proveOwnership decodes a message, overwrites the input and checks whether the value changed.
func (in *instance[M, V]) proveOwnership() error {
	data := append([]byte(nil), in.run.inputs[0]...)
	trial := in.trial(in.run.originals[:1], data)
	if err := in.loops.decoder(in.op)(trial, 1); err != nil {
		return fmt.Errorf("decode a copy: %w", err)
	}
	before := trial.sum
	scribble(data)
	var after uint64
	err := recovered(func() (err error) {
		after, err = in.codec.form.Read(trial.last, &in.run.originals[0])
		return err
	})
	changed := err != nil || after != before
	switch {
	case changed && !in.codec.alias:
		return fmt.Errorf("the decoded value changes with its input: the row must say alias=yes")
	case !changed && in.codec.alias && !in.msg.scalar:
		return fmt.Errorf("the decoded value does not change with its input: the row must not say alias=yes")
	}
	return nil
}

// proveDamage decodes truncated and changed messages. They do not depend on the run's seed, so a
// codec always gives the same result.
func (in *instance[M, V]) proveDamage(ctx context.Context) error {
	seen, example, err := in.observeDamage(ctx)
	if err != nil {
		return err
	}
	if seen > in.codec.damage {
		return fmt.Errorf("corrupted-input is declared %q, but %s", in.codec.damage, example)
	}
	return nil
}

// observeDamage returns the worst result of damaged input, with an example.
func (in *instance[M, V]) observeDamage(ctx context.Context) (damage, string, error) {
	specimen := in.msg.corpus(1)[:1]
	inputs, err := in.encoded(specimen)
	if err != nil {
		return 0, "", err
	}
	worst, example := damageRefused, ""
	decode := in.loops.decoder(in.op)
	for _, bad := range damaged(inputs[0]) {
		if in.codec.damage == damageUnbounded && !bad.truncated {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, "", err
		}
		before := allocated()
		err := recovered(func() error { return decode(in.trial(specimen, bad.data), 1) })
		size := allocated() - before
		result := damageRefused
		switch {
		case size > max(allocationLimit, allocationFactor*uint64(len(bad.data))):
			result, err = damageUnbounded, fmt.Errorf("allocates %d bytes", size)
		case isPanic(err):
			result = damagePanics
		case err == nil && bad.truncated:
			result = damagePartly
		}
		if result > worst {
			worst, example = result, fmt.Sprintf("%s: %s", bad.what, outcome(err))
		}
		if err != nil && in.codec.reopen {
			fresh, err := in.codec.start()
			if err != nil {
				return 0, "", err
			}
			decode = fresh.decoder(in.op)
		}
	}
	return worst, example, nil
}

func outcome(err error) string {
	if err == nil {
		return "accepted"
	}
	return err.Error()
}

// allocated returns how many bytes the process has allocated on its heap so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// trial returns a run that decodes data and reads every field.
func (in *instance[M, V]) trial(originals []M, data []byte) *run[M, V] {
	return &run[M, V]{originals: originals, inputs: [][]byte{data}, keep: in.op == opReuse, use: in.codec.form.Read}
}

type damagedMessage struct {
	what      string
	data      []byte
	truncated bool
}

// damaged returns truncations of a message and copies with one bit changed: about fifty of each,
// near both ends and spread over the rest.
func damaged(message []byte) []damagedMessage {
	var out []damagedMessage
	for _, n := range places(len(message)) {
		out = append(out, damagedMessage{fmt.Sprintf("cut to %d of %d bytes", n, len(message)), message[:n:n], true})
	}
	for _, at := range places(len(message)) {
		bit := at % 8
		data := append([]byte(nil), message...)
		data[at] ^= 1 << bit
		out = append(out, damagedMessage{fmt.Sprintf("bit %d of byte %d changed", bit, at), data, false})
	}
	return out
}

// places returns some of the indexes below n, fewer if there are many.
func places(n int) []int {
	spread := 32
	if n > 4096 {
		spread = 8
	}
	var out []int
	for i := range n {
		if i < 16 || i >= n-8 || i%max(1, n/spread) == 0 {
			out = append(out, i)
		}
	}
	return out
}

// scribble overwrites b with other bytes.
func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0x55
	}
}

// panicked is a panic turned into an error.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panics: %v", p.value) }

func isPanic(err error) bool {
	_, ok := err.(panicked)
	return ok
}

// recovered calls f and returns a panic as an error, including one for a bad memory access.
func recovered(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if value := recover(); value != nil {
			err = panicked{value}
		}
	}()
	return f()
}
