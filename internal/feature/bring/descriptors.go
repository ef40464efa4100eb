package bring

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// IsDescriptors reports whether a file is a descriptor set, as protoc writes it with
// --descriptor_set_out, or an image of buf's, by the file's extension.
func IsDescriptors(path string) bool {
	switch filepath.Ext(path) {
	case ".binpb", ".pb", ".bin", ".desc", ".protoset", ".fds":
		return true
	}
	return false
}

// LoadDescriptors reads a descriptor set or an image of buf's.
func LoadDescriptors(path string) (*Schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil {
		return nil, fmt.Errorf("%s: not a descriptor set: %w", path, err)
	}
	s, has := new(Schema), map[string]bool{}
	for _, file := range set.File {
		has[file.GetName()] = true
	}
	for _, file := range set.File {
		strip(file, &s.Missing, func(name string) bool { return has[name] })
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		if len(s.Missing) > 0 {
			err = fmt.Errorf("%w (imported, and not in the set: %s: make the set with protoc's --include_imports)", err, strings.Join(s.Missing, ", "))
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		s.files = append(s.files, file)
		return true
	})
	slices.SortFunc(s.files, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	return s, nil
}
