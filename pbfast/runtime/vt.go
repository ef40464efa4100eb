package runtime

import "google.golang.org/protobuf/proto"

// This file is for the methods with vtprotobuf's names.

// MarshalNew returns what marshal writes to the end of size bytes, and nil if there is no message.
func MarshalNew(isNil bool, size int, marshal func([]byte) (int, error)) ([]byte, error) {
	if isNil {
		return nil, nil
	}
	data := make([]byte, size)
	n, err := marshal(data)
	if err != nil {
		return nil, err
	}
	return data[len(data)-n:], nil
}

// Clone is proto.Clone of a message, with its type. What is nil stays nil.
func Clone[T any, M pointer[T]](m M) M {
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
