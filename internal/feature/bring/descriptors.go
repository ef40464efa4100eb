package bring

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	_ "google.golang.org/protobuf/types/known/anypb" // imports that descriptor sets may leave out
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// IsDescriptors reports whether a file is a descriptor set, as protoc writes it with
// --descriptor_set_out, or an image of buf's. It goes by the file's extension or, if that is
// JSON's, by the content.
func IsDescriptors(path string) bool {
	switch filepath.Ext(path) {
	case ".binpb", ".pb", ".bin", ".desc", ".protoset", ".fds":
		return true
	}
	if !IsJSON(path) {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte(`"messageType"`)) {
		return false
	}
	set, err := readDescriptors(path, data)
	return err == nil && len(set.File) > 0
}

func readDescriptors(path string, data []byte) (set *descriptorpb.FileDescriptorSet, err error) {
	set = new(descriptorpb.FileDescriptorSet)
	if IsJSON(path) {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, set)
	} else {
		err = proto.Unmarshal(data, set)
	}
	if err == nil && (len(set.File) == 0 || slices.ContainsFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == "" })) {
		err = fmt.Errorf("there is no .proto file in it")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not a descriptor set: %w", path, err)
	}
	return set, nil
}

// LoadDescriptors reads a descriptor set or an image of buf's.
func LoadDescriptors(path string) (*Schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set, err := readDescriptors(path, data)
	if err != nil {
		return nil, err
	}
	s := new(Schema)
	byName := map[string]*descriptorpb.FileDescriptorProto{}
	for _, file := range set.File {
		byName[file.GetName()] = file
	}
	exists := func(name string) bool {
		if byName[name] == nil {
			if known, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil && strings.HasPrefix(name, "google/protobuf/") {
				byName[name] = protodesc.ToFileDescriptorProto(known)
				set.File = append(set.File, byName[name])
			}
		}
		return byName[name] != nil
	}
	for i := 0; i < len(set.File); i++ { // which grows
		strip(set.File[i], &s.Missing, exists)
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
