package bring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A Schema is a set of .proto files that have been read and linked.
type Schema struct {
	files []protoreflect.FileDescriptor
	// Missing are the imports that Load did not find and that no message needs.
	Missing []string
	// Notes say what Infer did with JSON that no schema expresses.
	Notes []string
	json  *shape // the shape of the JSON that Infer read
}

// Load reads .proto files and their imports, from the given folders or the files' own. It needs no
// protoc.
func Load(ctx context.Context, paths, folders []string) (*Schema, error) {
	l := &loader{folders: folders}
	var names []string
	for _, path := range paths {
		name, folder, err := importName(path, folders)
		if err != nil {
			return nil, err
		}
		if folder != "" {
			l.folders = append(l.folders, folder)
		}
		names = append(names, name)
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.CompositeResolver{protocompile.ResolverFunc(l.find), protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{os.DevNull}})},
		SourceInfoMode: protocompile.SourceInfoStandard,
		MaxParallelism: 1, // find must not be called concurrently
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		if len(l.missing) > 0 {
			return nil, fmt.Errorf("%w (imported, and not found: %s: name the folder that has them with -I)", err, strings.Join(l.missing, ", "))
		}
		return nil, err
	}
	s := &Schema{Missing: l.missing}
	for _, file := range files {
		s.files = append(s.files, file)
	}
	return s, nil
}

// importName returns a file's name relative to one of the given folders, or else relative to its
// own folder, which it then returns too.
func importName(path string, folders []string) (name, folder string, err error) {
	for _, folder := range folders {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), "", nil
		}
	}
	for _, folder := range folders { // by the name that imports use
		if _, err := os.Stat(filepath.Join(folder, path)); err == nil {
			return filepath.ToSlash(path), "", nil
		}
	}
	if _, err := os.Stat(path); err != nil {
		return "", "", err
	}
	return filepath.Base(path), filepath.Dir(path), nil
}

// A loader finds files and reduces them to what decides the wire format.
type loader struct {
	folders []string
	missing []string
}

// open opens a file by the name that imports use.
func (l *loader) open(name string) (*os.File, error) {
	for _, folder := range l.folders {
		f, err := os.Open(filepath.Join(folder, filepath.FromSlash(name)))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, fs.ErrNotExist
}

// exists reports whether an import can be found.
func (l *loader) exists(name string) bool {
	if f, err := l.open(name); err == nil {
		f.Close()
		return true
	}
	_, err := protocompile.WithStandardImports(protocompile.ResolverFunc(func(string) (protocompile.SearchResult, error) {
		return protocompile.SearchResult{}, fs.ErrNotExist
	})).FindFileByPath(name)
	return err == nil
}

func (l *loader) find(name string) (protocompile.SearchResult, error) {
	f, err := l.open(name)
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	defer f.Close()
	handler := reporter.NewHandler(nil)
	tree, err := parser.Parse(name, f, handler)
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	parsed, err := parser.ResultFromAST(tree, true, handler)
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	strip(parsed.FileDescriptorProto(), &l.missing, l.exists)
	return protocompile.SearchResult{ParseResult: parsed}, nil
}

// strip removes everything that does not change messages' bytes, and imports that do not exist.
func strip(file *descriptorpb.FileDescriptorProto, missing *[]string, exists func(string) bool) {
	file.Service, file.Extension = nil, nil
	kept, public := file.Dependency[:0], []int32(nil)
	for i, name := range file.Dependency {
		if !exists(name) {
			if !slices.Contains(*missing, name) {
				*missing = append(*missing, name)
			}
			continue
		}
		if slices.Contains(file.PublicDependency, int32(i)) {
			public = append(public, int32(len(kept)))
		}
		kept = append(kept, name)
	}
	file.Dependency, file.PublicDependency, file.WeakDependency = kept, public, nil
	if file.Options != nil {
		file.Options.UninterpretedOption = standard(file.Options.UninterpretedOption)
	}
	for _, message := range file.MessageType {
		stripMessage(message)
	}
	for _, enum := range file.EnumType {
		stripEnum(enum)
	}
}

func stripMessage(message *descriptorpb.DescriptorProto) {
	message.Extension, message.ExtensionRange = nil, nil
	if message.Options != nil {
		message.Options.UninterpretedOption = standard(message.Options.UninterpretedOption)
	}
	for _, field := range message.Field {
		if field.Options != nil {
			field.Options.UninterpretedOption = slices.DeleteFunc(standard(field.Options.UninterpretedOption), func(o *descriptorpb.UninterpretedOption) bool {
				return o.Name[0].GetNamePart() == "default" // of an enum that may be renamed
			})
		}
	}
	for _, oneof := range message.OneofDecl {
		oneof.Options = nil
	}
	for _, nested := range message.NestedType {
		stripMessage(nested)
	}
	for _, enum := range message.EnumType {
		stripEnum(enum)
	}
}

func stripEnum(enum *descriptorpb.EnumDescriptorProto) {
	if enum.Options != nil {
		enum.Options.UninterpretedOption = standard(enum.Options.UninterpretedOption)
	}
	for _, value := range enum.Value {
		value.Options = nil
	}
}

// standard keeps protobuf's own options that change the wire format or names.
func standard(options []*descriptorpb.UninterpretedOption) []*descriptorpb.UninterpretedOption {
	return slices.DeleteFunc(options, func(o *descriptorpb.UninterpretedOption) bool {
		switch o.Name[0].GetNamePart() {
		case "packed", "json_name", "allow_alias", "message_set_wire_format", "features", "default":
			return o.Name[0].GetIsExtension() || len(o.Name) > 1 && o.Name[1].GetIsExtension()
		}
		return true
	})
}

// Message finds a message by its full name, or by an unambiguous end of it. Without a name, it
// returns the files' only top-level message.
func (s *Schema) Message(name string) (protoreflect.MessageDescriptor, error) {
	var all []protoreflect.MessageDescriptor
	var collect func(protoreflect.MessageDescriptors)
	collect = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			if md := mds.Get(i); !md.IsMapEntry() {
				all = append(all, md)
				collect(md.Messages())
			}
		}
	}
	var top []protoreflect.MessageDescriptor
	for _, file := range s.files {
		collect(file.Messages())
		for i := range file.Messages().Len() {
			top = append(top, file.Messages().Get(i))
		}
	}
	var found, names []string
	var match protoreflect.MessageDescriptor
	for _, md := range all {
		full := string(md.FullName())
		switch {
		case name == full:
			return md, nil
		case name != "" && strings.HasSuffix(full, "."+name):
			match, found = md, append(found, full)
		}
		names = append(names, full)
	}
	few := strings.Join(names[:min(len(names), 8)], ", ")
	switch {
	case len(all) == 0:
		return nil, errors.New("there are no messages in the file: give one that has some")
	case name == "" && len(top) == 1:
		return top[0], nil
	case name == "":
		return nil, fmt.Errorf("which of the %d messages? name one with --message: %s", len(all), few)
	case len(found) == 0:
		return nil, fmt.Errorf("no message %s: the file has %s", name, few)
	case len(found) > 1:
		return nil, fmt.Errorf("the name %s is ambiguous: say which with --message: %s", name, strings.Join(found, ", "))
	}
	return match, nil
}
