package pbfast_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"postage/pbfast/internal/testmessages/options"
)

// Parameters by field or message apply to its strings and bytes, and to no others.
func TestTextOptions(t *testing.T) {
	m := &options.Mixed{
		Usual: "usual", Alias: "alias", AliasBytes: []byte("bytes"), Kept: &options.Kept{Usual: "kept"},
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		decode              func(*options.Mixed, []byte) error
		aliasMoves, allMove bool // with the input
	}{
		"proto.Unmarshal": {func(m *options.Mixed, data []byte) error { return proto.Unmarshal(data, m) }, true, false},
		"Unmarshal":       {(*options.Mixed).Unmarshal, false, false},
		"UnmarshalOwn":    {(*options.Mixed).UnmarshalOwn, false, false},
		"UnmarshalAlias":  {(*options.Mixed).UnmarshalAlias, true, true},
	} {
		got, input := new(options.Mixed), bytes.Clone(data)
		if err := c.decode(got, input); err != nil || !proto.Equal(got, m) {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		clear(input)
		if moved := got.Alias != m.Alias; moved != c.aliasMoves || moved == bytes.Equal(got.AliasBytes, m.AliasBytes) {
			t.Errorf("%s: after the input is changed, alias is %q and %q", name, got.Alias, got.AliasBytes)
		}
		if moved := got.Usual != m.Usual; moved != c.allMove || moved == (got.Kept.Usual == m.Kept.Usual) {
			t.Errorf("%s: after the input is changed, usual is %q and %q", name, got.Usual, got.Kept.Usual)
		}
	}
}

// UnmarshalReuse is there for the message that it was asked for, and for what that holds.
func TestReuseByMessage(t *testing.T) {
	type reuser interface{ UnmarshalReuse([]byte) error }
	if _, ok := any(new(options.Mixed)).(reuser); ok {
		t.Error("Mixed has UnmarshalReuse")
	}
	var kept reuser = new(options.Kept)
	if _, ok := any(new(options.Part)).(reuser); !ok {
		t.Error("Part has none")
	}
	data, err := proto.Marshal(&options.Kept{Usual: "x", Parts: []*options.Part{{Usual: "a"}, {Usual: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { err = kept.UnmarshalReuse(data) }); n != 0 || err != nil {
		t.Errorf("decoding into a kept message allocates %v times, %v", n, err)
	}
}
