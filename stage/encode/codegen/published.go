package codegen

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A Published message is one that others publish. Protobuf libraries alone are compared by it: they
// need no code but their own.
type Published struct {
	File   protoreflect.FileDescriptor // its names are no other message's
	Sample []byte                      // encoded
}

// writePublished writes the code of published messages beside the code of the stage's own.
func (s *schema) writePublished(published []Published) error {
	body := "var published = map[string]string{\n"
	for _, p := range published {
		body += fmt.Sprintf("%q: \"\"", strings.TrimSuffix(p.File.Path(), ".proto"))
		for chunk := range slices.Chunk(p.Sample, 64) {
			body += " +\n" + strconv.Quote(string(chunk))
		}
		body += ",\n"
		for pkg, steps := range map[string][]step{
			"pb":     {plugin("protoc-gen-go", ""), withoutGetters, plugin("protoc-gen-go-vtproto", "features=size+marshal+unmarshal")},
			"pbhook": {plugin("protoc-gen-go", ""), withoutGetters, pbfast("methods=pbfast")},
		} {
			own := moved([]*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(p.File)}, pkg)
			for _, step := range steps {
				if err := step(s, filepath.Join(s.tree, internal, pkg), append(dependencies(p.File), own...)); err != nil {
					return err
				}
			}
		}
	}
	return saveGo(filepath.Join(s.tree, "stage", "encode", "published_gen.go"), "encode", body+"}")
}
