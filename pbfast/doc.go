// Package pbfast tells whether proto.Marshal and proto.Unmarshal use the code that
// protoc-gen-pbfast generates: fast methods on the messages that protoc-gen-go makes. They need
// nothing from here: they use package runtime, which is for generated code alone. See
// docs/pbfast.md.
//
// A message has, beside what protoc-gen-go gives it:
//
//	SizeOf() int                               the length of its encoding
//	MarshalAppend([]byte) ([]byte, error)      appends it
//	Unmarshal([]byte) error                    sets the message; strings and bytes share a copy of the input
//	UnmarshalOwn([]byte) error                 sets it as proto.Unmarshal does, all in memory of its own
//	UnmarshalAlias([]byte) error               sets it; strings and bytes are parts of the input
//	UnmarshalReuse([]byte) error               the same, in memory that it holds; with the parameter reuse
//
// Nothing of a message that UnmarshalReuse decodes into may be in use elsewhere, nor be in it
// twice. With the parameter names=vt it has vtprotobuf's methods too: MarshalVT and its like do not
// look for required fields, MarshalToSizedBufferVT writes to the end of the buffer, UnmarshalVT
// merges, and UnmarshalVTUnsafe leaves strings and bytes as parts of the input.
package pbfast

import (
	"google.golang.org/protobuf/proto"

	"postage/pbfast/runtime"
)

// Errors of encoding and decoding. All are [proto.Error].
var (
	// ErrMalformed is the error of input that is not in the wire format.
	ErrMalformed = runtime.ErrMalformed
	// ErrUTF8 is the error of text that is not UTF-8.
	ErrUTF8 = runtime.ErrUTF8
	// ErrDepth is the error of messages nested deeper than the limit.
	ErrDepth = runtime.ErrDepth
)

// Hooked reports whether proto.Marshal, Unmarshal and Size use generated methods for messages like
// m. A test of a program can ask: if a release of protobuf-go is not supported, they do not, and
// run at protobuf-go's speed.
func Hooked(m proto.Message) bool { return runtime.Hooked(m) }
