package check

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	pgv "github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"postage/stage/encode/internal/pbcheck"
)

// Every field that has a rule is made wrong by a trial, and no other.
func TestTrialsCoverRules(t *testing.T) {
	tried(t, new(order), orderTrials)
	tried(t, new(tiny), tinyTrials)
}

func tried[V any](t *testing.T, m proto.Message, trials []trial[V]) {
	want, got := map[string]bool{}, map[string]bool{}
	ruled(m.ProtoReflect().Descriptor(), "", want)
	for _, trial := range trials {
		if trial.field != "" && trial.disputed == "" {
			got[trial.field] = true
		}
	}
	a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))
	if len(b) < 2 || !slices.Equal(a, b) {
		t.Errorf("%T: trials are of %q, rules of %q", m, a, b)
	}
}

func ruled(md protoreflect.MessageDescriptor, path string, to map[string]bool) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if proto.HasExtension(fd.Options(), pgv.E_Rules) {
			to[path+string(fd.Name())] = true
		}
		if fd.Message() != nil && !fd.IsMap() {
			ruled(fd.Message(), path+string(fd.Name())+".", to)
		}
	}
}

// The proof says what a contender does not do.
func TestProofFails(t *testing.T) {
	valid := func(uint64) ([][]byte, error) {
		data, err := proto.Marshal(&tiny{Serial: 7, Value: 1.5})
		return [][]byte{data}, err
	}
	for want, check := range map[string]func(*tiny) error{
		"a valid message is refused":                     func(*tiny) error { return wrong("serial") },
		"a message with a wrong serial is accepted":      func(*tiny) error { return nil },
		`a wrong value is refused for "serial"`:          func(m *tiny) error { return renamed(checkTiny(m), "serial") },
		"a message at the bounds is refused":             func(m *tiny) error { return also(checkTiny(m), m.Value >= 1e6) },
		`it accepts ["NaN in a range"], but declares []`: func(m *tiny) error { return unless(m.Value != m.Value, checkTiny(m)) },
	} {
		in, err := newInstance[tiny, *pbcheck.Tiny](byHand(check), subject[tiny]{"tiny", "", valid, tinyTrials}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Prove(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func renamed(err error, name wrong) error {
	if err == nil {
		return nil
	}
	return name
}

func also(err error, refused bool) error {
	if err == nil && refused {
		return wrong("value")
	}
	return err
}

func unless(not bool, err error) error {
	if not {
		return nil
	}
	return err
}
