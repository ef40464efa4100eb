package runtime

import "google.golang.org/protobuf/proto"

// What is here is for the methods with vtprotobuf's names.

// MarshalNew returns m's encoding, and nil if m is nil.
func MarshalNew[T any, M interface {
	*T
	sizer
	MarshalToSizedBufferVT([]byte) (int, error)
}](m M) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	data := make([]byte, m.SizeOf())
	n, err := m.MarshalToSizedBufferVT(data)
	if err != nil {
		return nil, err
	}
	return data[len(data)-n:], nil
}

// Clone is proto.Clone of a message, with its type. What is nil stays nil.
func Clone[T any, M interface {
	*T
	proto.Message
}](m M) M {
	if m == nil {
		return nil
	}
	return proto.Clone(m).(M)
}

// EqualMessage is proto.Equal, and false for a message of another type.
func EqualMessage[M proto.Message](m M, other proto.Message) bool {
	o, ok := other.(M)
	return ok && proto.Equal(m, o)
}
