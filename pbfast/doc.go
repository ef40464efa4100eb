// Package pbfast makes proto.Marshal and proto.Unmarshal several times as fast, by code that the
// plug-in protoc-gen-pbfast writes beside protoc-gen-go's:
//
//	protoc --go_out=. --pbfast_out=. order.proto
//
// A program calls what it called before. One of its tests asks whether that runs the new code:
//
//	data, err := proto.Marshal(order)
//	err = proto.Unmarshal(data, order)
//	if err := pbfast.HookError(order); err != nil {
//		t.Error(err)
//	}
//
// With the plug-in's parameter methods=pbfast, each message also has methods, and with methods=reuse
// the last of these:
//
//	SizeOf() int                               the length of its encoding
//	MarshalAppend([]byte) ([]byte, error)      appends its encoding
//	Unmarshal([]byte) error                    sets it; strings and bytes share a copy of the input
//	UnmarshalAlias([]byte) error               sets it; strings and bytes are parts of the input
//	UnmarshalReuse([]byte) error               the same, into memory that the message holds already
//
// MarshalAppend may write over all of the capacity of the slice that it is given, beyond what it
// appends too. UnmarshalReuse overwrites what the message holds, so no part of that may be in use
// elsewhere, nor be in the message twice. With methods=vt there are vtprotobuf's methods: MarshalVT
// and its like do not look for required fields, MarshalToSizedBufferVT writes to the end of the
// buffer, UnmarshalVT merges, and UnmarshalVTUnsafe leaves strings and bytes as parts of the input.
// All parameters are in docs/pbfast.md.
package pbfast

import (
	"google.golang.org/protobuf/proto"

	"postage/pbfast/runtime"
)

// HookError is nil if proto.Marshal, proto.Unmarshal and proto.Size run generated code for messages
// of m's type. Otherwise it says why they run protobuf-go's own: nothing was generated for it, or
// this release of protobuf-go is not supported. Then nothing else tells: the program works, at
// protobuf-go's speed.
func HookError(m proto.Message) error { return runtime.HookError(m) }

// UnmarshalAlias is [proto.Unmarshal], except that strings and bytes of a hooked message are parts of
// data, which must not be changed afterwards.
func UnmarshalAlias(data []byte, m proto.Message) error { return runtime.UnmarshalAlias(data, m) }
