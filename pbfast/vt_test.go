package pbfast_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"postage/pbfast/internal/testmessages/proto3"
)

// A vtMessage has what vtprotobuf generates for its features marshal, marshal_strict, unmarshal,
// unmarshal_unsafe, size, clone and equal: code that calls it compiles with methods=vt.
type vtMessage[M any] interface {
	proto.Message
	MarshalVT() ([]byte, error)
	MarshalToVT([]byte) (int, error)
	MarshalToSizedBufferVT([]byte) (int, error)
	MarshalVTStrict() ([]byte, error)
	MarshalToVTStrict([]byte) (int, error)
	MarshalToSizedBufferVTStrict([]byte) (int, error)
	UnmarshalVT([]byte) error
	UnmarshalVTUnsafe([]byte) error
	SizeVT() int
	CloneVT() M
	CloneMessageVT() proto.Message
	EqualVT(M) bool
	EqualMessageVT(proto.Message) bool
}

func TestVTNames(t *testing.T) {
	var m vtMessage[*proto3.TestAllTypesProto3] = sample()
	want, err := m.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	for name, marshal := range map[string]func() ([]byte, error){
		"MarshalVTStrict": m.MarshalVTStrict,
		"MarshalToVTStrict": func() ([]byte, error) {
			b := make([]byte, m.SizeVT()+3)
			n, err := m.MarshalToVTStrict(b)
			return b[:n], err
		},
		"MarshalToSizedBufferVTStrict": func() ([]byte, error) {
			b := make([]byte, m.SizeVT()+3)
			n, err := m.MarshalToSizedBufferVTStrict(b)
			return b[len(b)-n:], err
		},
	} {
		got, err := marshal()
		back := new(proto3.TestAllTypesProto3)
		if err != nil || len(got) != len(want) || proto.Unmarshal(got, back) != nil || !m.EqualVT(back) {
			// A nil element comes back as an empty one, which proto.Equal does not tell from it.
			t.Errorf("%s: %v, %v", name, back, err)
		}
	}
	clone := m.CloneVT()
	if !m.EqualVT(clone) || !m.EqualMessageVT(m.CloneMessageVT()) {
		t.Error("a clone is not equal")
	}
	clone.OneofField.(*proto3.TestAllTypesProto3_OneofBytes).OneofBytes[0]++
	if m.EqualVT(clone) || m.EqualMessageVT(clone) || m.EqualMessageVT(new(proto3.ForeignMessage)) || m.EqualVT(nil) {
		t.Error("what is different is equal")
	}
	var none *proto3.TestAllTypesProto3
	if none.CloneVT() != nil || !none.EqualVT(nil) || none.EqualVT(new(proto3.TestAllTypesProto3)) {
		t.Error("nil is not nil")
	}
	if got, err := none.MarshalVTStrict(); err != nil || !bytes.Equal(got, nil) {
		t.Errorf("nil is encoded to %x, %v", got, err)
	}
}
