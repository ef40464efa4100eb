package encode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// An edge is a message with a value that some codecs cannot represent.
type edge[M any] struct {
	name    string
	message M
}

// proveEdges checks what the codec declares about edge cases.
func (in *instance[M, V]) proveEdges() error {
	if in.msg.edges == nil || in.op != opDecode {
		return nil
	}
	if got, want := in.observeLosses(), cmp.Or(in.codec.loses, nothing); got != want {
		return fmt.Errorf("it is declared to lose %s, but loses %s", want, got)
	}
	got, err := in.observeUTF8()
	if err != nil {
		return err
	}
	if got != in.codec.utf8 {
		return fmt.Errorf("invalid UTF-8 in text is declared %q, but is %q", in.codec.utf8, got)
	}
	return nil
}

const nothing = "nothing"

// observeLosses returns the edge cases that do not survive encoding and decoding, or are refused.
// In protobuf's wire format they must also survive between the codec and protobuf.
func (in *instance[M, V]) observeLosses() string {
	var lost []string
	for _, e := range in.msg.edges() {
		if recovered(func() error { return in.survives(&e.message) }) != nil {
			lost = append(lost, e.name)
		}
	}
	return cmp.Or(strings.Join(lost, ", "), nothing)
}

func (in *instance[M, V]) survives(m *M) error {
	messages := []M{*m}
	inputs, err := in.encoded(messages) // for protobuf's format, by protobuf
	if err != nil {
		return err
	}
	if in.codec.protobuf && in.loops.encode != nil {
		r := &run[M, V]{originals: messages, values: in.codec.values(messages)}
		if err := in.loops.encode(r, 1); err != nil {
			return err
		}
		var got M
		if err := in.msg.unmarshal(r.out, &got); err != nil {
			return err
		}
		if d := in.msg.diff(&got, m); d != "" {
			return errors.New(d)
		}
	}
	trial := in.trial(messages, inputs[0])
	if err := in.loops.decode(trial, 1); err != nil {
		return err
	}
	return in.same(trial.last, m)
}

// observeUTF8 returns what the decoder does with text that is not UTF-8.
func (in *instance[M, V]) observeUTF8() (string, error) {
	const good, bad = "~text~", "~te\xfft~"
	m, text := in.msg.text(good)
	inputs, err := in.encoded([]M{m})
	if err != nil {
		return "", fmt.Errorf("encode plain text: %w", err)
	}
	data := bytes.ReplaceAll(inputs[0], []byte(good), []byte(bad))
	if bytes.Equal(data, inputs[0]) {
		return "", fmt.Errorf("plain text is not found in the encoded message")
	}
	trial := in.trial([]M{m}, data)
	if err := in.loops.decode(trial, 1); err != nil {
		return "error", nil
	}
	var got M
	if err := in.codec.form.To(trial.last, &got); err != nil {
		return "error", nil
	}
	if text(&got) == bad {
		return "kept", nil
	}
	return "replaced", nil
}
