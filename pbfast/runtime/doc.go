// Package runtime is the run time of the code that protoc-gen-pbfast generates. All of it is for
// generated code, and changes with the generator.
package runtime

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// Errors of encoding and decoding. All are [proto.Error].
var (
	errUTF8 = failure{errors.New("string field contains invalid UTF-8")}
	// ErrNil is the error of input that is to be merged into a nil message.
	ErrNil error = failure{errors.New("cannot merge into a nil message")}
	// ErrMalformed is the error of input that is not in the wire format.
	ErrMalformed error = failure{errors.New("cannot parse invalid wire-format data")}
	// ErrUTF8 is the error of text that is not UTF-8.
	ErrUTF8 error = errUTF8
	// ErrDepth is the error of messages nested deeper than the limit.
	ErrDepth error = failure{errors.New("exceeded maximum recursion depth")}
)

type failure struct{ cause error }

func (f failure) Error() string        { return "pbfast: " + f.cause.Error() }
func (f failure) Is(target error) bool { return target == proto.Error }
