// Package runtime is the run time of the code that protoc-gen-pbfast generates. All of it is for
// generated code, and changes with the generator.
package runtime

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// Errors of encoding and decoding. All are [proto.Error].
var (
	// ErrNil is the error of input that is to be merged into a nil message.
	ErrNil error = failure{errors.New("cannot merge into a nil message")}

	errUTF8      = failure{errors.New("string field contains invalid UTF-8")}
	errMalformed = failure{errors.New("cannot parse invalid wire-format data")}
	errDepth     = failure{errors.New("exceeded maximum recursion depth")}
)

type failure struct{ cause error }

func (f failure) Error() string        { return "pbfast: " + f.cause.Error() }
func (f failure) Is(target error) bool { return target == proto.Error }
