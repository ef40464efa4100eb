// Package codegen writes the encode stage's generated code: for the stage's own messages, and for
// messages that users bring.
//
// The stage's messages have one source, the .proto files in stage/encode/schema. From their
// descriptors it makes, in this order:
//
//  1. package plain: Go structs as one would write them by hand, for the codecs that take any
//     struct, and the methods that msgp generates on them;
//  2. a copy of the protobuf messages for each protobuf library that generates code, each in a
//     protobuf package of its own, because protobuf's registry refuses two messages with the same
//     name;
//  3. schemas of the other formats (Cap'n Proto, FlatBuffers), and what their own compilers make
//     from them;
//  4. the messages that pbfast's own tests use, in its module;
//  5. package bind: for each of these forms the conversions from and to the plain structs, a
//     function that reads every field, and one that compares every field;
//  6. the rows that contenders declare for generated types.
//
// Folder templates has the code that no library's own generator writes. The Go files beside it know
// how each library calls things.
//
// Generators run from tools/go.mod, which pins their versions; capnp and flatc are the system's. It
// does not need protoc: it compiles the .proto files itself.
package codegen

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// registered begins the generated packages' names in descriptors and schemas. Nothing resolves these
// names. It has two parts so that tools/rehome.sh leaves it as it is.
const registered = "postage" + "/stage/encode/internal/"

// internal is the folder of the generated packages, relative to the root of the source.
const internal = "stage/encode/internal/"

// BuiltIn writes the code for the stage's own messages, pbfast's tests and internal/service/greeter.
// tree is the root of the source, published the messages of others.
func BuiltIn(ctx context.Context, tree string, published []Published) error {
	s, err := loadSchema(ctx, filepath.Join(tree, "stage", "encode", "schema"))
	if err != nil {
		return err
	}
	if err := s.locate(tree); err != nil {
		return err
	}
	internal := filepath.Join(s.tree, internal)
	if err := clear(filepath.Join(internal, "bind"), "*_gen.go"); err != nil {
		return err
	}
	for _, p := range append(needed, parts...) {
		if err := p.write(s, internal); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := errors.Join(writeKits(s, internal), writeRows(s, filepath.Join(tree, "stage", "encode"))); err != nil {
		return err
	}
	if err := s.writePublished(published); err != nil {
		return fmt.Errorf("published messages: %w", err)
	}
	if err := s.writePbfastTests(ctx); err != nil {
		return fmt.Errorf("pbfast's test messages: %w", err)
	}
	if err := s.writeGreeter(ctx); err != nil {
		return fmt.Errorf("the greeter's messages: %w", err)
	}
	return nil
}
