package bring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A Normal is a message in the form that generators accept.
type Normal struct {
	// File has the message first, and then every type that it uses, as top-level types of one
	// package. Fields keep their numbers, kinds and JSON names: the encoded message is the same.
	File    *descriptorpb.FileDescriptorProto
	Message protoreflect.MessageDescriptor // name of the message in File
	// Messages and Enums are how many types the message uses.
	Messages, Enums int
}

const normalPackage = "postage.brought"

// Normalise rewrites a message and every type that it uses. Singular messages become optional,
// which changes nothing on the wire. If all types are proto2, so is the file. Otherwise it is
// proto3: then decoders check all text for UTF-8, and enums are open.
func Normalise(root protoreflect.MessageDescriptor) (*Normal, error) {
	return NormalisePart(root, "", func(protoreflect.FieldDescriptor) bool { return true })
}

// NormalisePart does what [Normalise] does, with the fields that keep returns true for. With a name,
// it gives the message that name and begins all other names with it, and leaves protobuf's own types,
// such as google.protobuf.Duration, where they are.
func NormalisePart(root protoreflect.MessageDescriptor, name string, keep func(protoreflect.FieldDescriptor) bool) (*Normal, error) {
	n := &normaliser{prefix: name, keep: keep, names: map[protoreflect.FullName]string{}, proto2: true}
	if err := n.collect(root); err != nil {
		return nil, err
	}
	n.name()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("messages.proto"), Package: proto.String(normalPackage), Syntax: proto.String("proto3")}
	if n.proto2 {
		file.Syntax = proto.String("proto2")
	}
	for _, md := range n.messages {
		message, err := n.message(md)
		if err != nil {
			return nil, err
		}
		file.MessageType = append(file.MessageType, message)
	}
	constants := map[string]bool{}
	for _, name := range n.names {
		constants[name] = true
	}
	for _, ed := range n.enums {
		file.EnumType = append(file.EnumType, n.enum(ed, constants))
	}
	file.Dependency = n.imports
	linked, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return nil, fmt.Errorf("%s, rewritten: %w", root.FullName(), err)
	}
	return &Normal{File: file, Message: linked.Messages().Get(0), Messages: len(n.messages), Enums: len(n.enums)}, nil
}

type normaliser struct {
	prefix   string
	imports  []string
	keep     func(protoreflect.FieldDescriptor) bool
	messages []protoreflect.MessageDescriptor // the message itself first
	enums    []protoreflect.EnumDescriptor
	names    map[protoreflect.FullName]string
	proto2   bool // everything is proto2
}

// fields returns a message's fields that are kept.
func (n *normaliser) fields(md protoreflect.MessageDescriptor) (kept []protoreflect.FieldDescriptor) {
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); n.keep(fd) {
			kept = append(kept, fd)
		}
	}
	return kept
}

// own reports whether a message is protobuf's own, and stays where it is.
func (n *normaliser) own(md protoreflect.MessageDescriptor) bool {
	return n.prefix != "" && md.ParentFile().Package() == "google.protobuf"
}

// collect adds the types that a message uses. It refuses a type that some generator cannot take.
func (n *normaliser) collect(md protoreflect.MessageDescriptor) error {
	if _, seen := n.names[md.FullName()]; seen {
		return nil
	}
	if path := md.ParentFile().Path(); n.own(md) {
		if !slices.Contains(n.imports, path) {
			n.imports = append(n.imports, path)
		}
		return nil
	}
	n.names[md.FullName()] = ""
	n.messages = append(n.messages, md)
	n.proto2 = n.proto2 && md.ParentFile().Syntax() == protoreflect.Proto2
	if options, ok := md.Options().(*descriptorpb.MessageOptions); ok && options.GetMessageSetWireFormat() {
		return refuse(md, "%s is a MessageSet, which cannot be brought", md.FullName())
	}
	for _, fd := range n.fields(md) {
		if fd.Kind() == protoreflect.GroupKind {
			return refuse(fd, "%s is a group, which cannot be brought: use a message instead", fd.FullName())
		}
		if fd.IsMap() {
			fd = fd.MapValue()
		}
		if ed := fd.Enum(); ed != nil {
			if _, seen := n.names[ed.FullName()]; !seen {
				n.names[ed.FullName()] = ""
				n.enums = append(n.enums, ed)
			}
		}
		if part := fd.Message(); part != nil {
			if err := n.collect(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names that formats reserve, and prefixes of generated functions' names.
var (
	takenTypes    = []string{"Text", "Data", "List", "Bool", "Void", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "AnyPointer", "Table", "Struct", "Builder", "Form", "Kit", "Easyproto", "Hyperpb", "Capnp", "Flatbuffers", "FlatBuilder"}
	takenPrefixes = []string{"Fields", "Alias", "Root", "Optional", "Kept"}
	takenFields   = []string{"reset", "string", "proto_message", "proto_reflect", "marshal", "unmarshal", "descriptor", "extension_map", "extension_range_array", "size", "encode", "decode", "error", "init", "table", "segment", "is_valid", "to_ptr", "msgsize", "encode_as_ptr", "decode_from_ptr", "marshal_append"}
)

// name gives each type a name of its own, which begins with a capital and has no underscore.
func (n *normaliser) name() {
	used := map[string]bool{}
	for _, name := range takenTypes {
		used[strings.ToLower(name)] = true
	}
	claim := func(full protoreflect.FullName, pkg protoreflect.FullName) {
		local := strings.TrimPrefix(strings.TrimPrefix(string(full), string(pkg)), ".")
		name := n.prefix + pascal(strings.ReplaceAll(local, ".", "_"))
		if full == n.messages[0].FullName() && n.prefix != "" {
			name = n.prefix
		}
		for _, prefix := range takenPrefixes {
			if strings.HasPrefix(name, prefix) {
				name += "Type"
				break
			}
		}
		base := name
		for i := 2; used[strings.ToLower(name)]; i++ {
			name = fmt.Sprintf("%sV%d", base, i)
		}
		used[strings.ToLower(name)] = true
		n.names[full] = name
	}
	for _, md := range n.messages {
		claim(md.FullName(), md.ParentFile().Package())
	}
	for _, ed := range n.enums {
		claim(ed.FullName(), ed.ParentFile().Package())
	}
	// Generated names combine a message's name and a field's. If that is also the name of a type,
	// the type is renamed.
	for {
		made := map[string]bool{}
		for _, md := range n.messages {
			for _, fd := range n.fields(md) {
				name := n.names[md.FullName()] + pascal(string(fd.Name()))
				made[strings.ToLower(name)], made[strings.ToLower(name+"Entry")] = true, true
			}
		}
		changed := false
		for full, name := range n.names {
			if made[strings.ToLower(name)] {
				n.names[full], changed = name+"Type", true
			}
		}
		if !changed {
			return
		}
	}
}

// pascal converts any name to PascalCase as protoc-gen-go does: Remaining_TTL becomes RemainingTTL,
// and k8sName becomes K8SName.
func pascal(name string) string {
	name = afterDigit.ReplaceAllString(name, "${1}_$2")
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if name := b.String(); name != "" && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return "X" + b.String()
}

// snake converts any name to one for which all generators make the same Go name: lower case, a
// letter after each underscore, and no letter after a digit.
func snake(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(afterDigit.ReplaceAllString(hump.ReplaceAllString(name, "${1}_$2"), "${1}_$2"), "_") {
		if part == "" {
			continue
		}
		if b.Len() > 0 && (part[0] < '0' || part[0] > '9') {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(part))
	}
	if b.Len() == 0 || b.String()[0] <= '9' {
		return "x" + b.String()
	}
	return b.String()
}

// hump finds where a word begins within a name, such as between host and PID in hostPID.
var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// afterDigit finds a letter that protoc-gen-go takes for the first of a word.
var afterDigit = regexp.MustCompile(`([0-9])([a-z])`)

func (n *normaliser) message(md protoreflect.MessageDescriptor) (*descriptorpb.DescriptorProto, error) {
	out := &descriptorpb.DescriptorProto{Name: proto.String(n.names[md.FullName()])}
	used := map[string]bool{}
	for _, name := range takenFields {
		used[pascal(name)] = true
	}
	claim := func(name string) string {
		name = snake(name)
		base := name
		for i := 2; used[pascal(name)] || used[pascal("get_"+name)]; i++ {
			name = fmt.Sprintf("%s_v%d", base, i)
		}
		used[pascal(name)] = true
		return name
	}
	oneofs := map[protoreflect.Name]int32{}
	fields := n.fields(md)
	for _, fd := range fields {
		field, err := n.field(fd, claim(string(fd.Name())))
		if err != nil {
			return nil, err
		}
		if fd.IsMap() {
			if err := n.entry(fd, field, out); err != nil {
				return nil, err
			}
		}
		if oneof := fd.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
			index, seen := oneofs[oneof.Name()]
			if !seen {
				index = int32(len(out.OneofDecl))
				oneofs[oneof.Name()] = index
				out.OneofDecl = append(out.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(claim(string(oneof.Name())))})
			}
			field.OneofIndex = &index
		}
		out.Field = append(out.Field, field)
	}
	if n.proto2 {
		return out, nil
	}
	for i, field := range out.Field { // oneofs that stand for the word optional must come last
		if fd := fields[i]; field.OneofIndex == nil && fd.Cardinality() != protoreflect.Repeated && (fd.HasPresence() || fd.Message() != nil) {
			field.Proto3Optional, field.OneofIndex = proto.Bool(true), proto.Int32(int32(len(out.OneofDecl)))
			out.OneofDecl = append(out.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + field.GetName())})
		}
	}
	return out, nil
}

// entry declares the type of a map's entries in its message.
func (n *normaliser) entry(fd protoreflect.FieldDescriptor, field *descriptorpb.FieldDescriptorProto, in *descriptorpb.DescriptorProto) error {
	entry := &descriptorpb.DescriptorProto{
		Name:    proto.String(pascal(field.GetName()) + "Entry"),
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
	}
	for _, part := range []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()} {
		made, err := n.field(part, string(part.Name()))
		if err != nil {
			return err
		}
		made.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		entry.Field = append(entry.Field, made)
	}
	field.TypeName = proto.String("." + normalPackage + "." + in.GetName() + "." + entry.GetName())
	in.NestedType = append(in.NestedType, entry)
	return nil
}

func (n *normaliser) field(fd protoreflect.FieldDescriptor, name string) (*descriptorpb.FieldDescriptorProto, error) {
	field := &descriptorpb.FieldDescriptorProto{
		Name:     proto.String(name),
		Number:   proto.Int32(int32(fd.Number())),
		Label:    descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		Type:     descriptorpb.FieldDescriptorProto_Type(fd.Kind()).Enum(),
		JsonName: proto.String(fd.JSONName()),
	}
	if strings.ContainsAny(fd.JSONName(), untagged) {
		return nil, refuse(fd, "%s is called %q in JSON, which no tag of a Go struct can hold: give it another json_name", fd.FullName(), fd.JSONName())
	}
	if fd.Cardinality() == protoreflect.Repeated {
		field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		if packed := fd.IsPacked(); fd.IsList() && packable(fd.Kind()) && packed == n.proto2 {
			field.Options = &descriptorpb.FieldOptions{Packed: &packed} // the default of the other syntax
		}
	}
	if md := fd.Message(); md != nil && n.own(md) {
		field.TypeName = proto.String("." + string(md.FullName()))
	} else if md != nil && !md.IsMapEntry() {
		field.TypeName = proto.String("." + normalPackage + "." + n.names[md.FullName()])
	}
	if ed := fd.Enum(); ed != nil {
		field.TypeName = proto.String("." + normalPackage + "." + n.names[ed.FullName()])
	}
	return field, nil
}

func packable(kind protoreflect.Kind) bool {
	return kind != protoreflect.StringKind && kind != protoreflect.BytesKind && kind != protoreflect.MessageKind
}

// enum keeps the names of values that no other enum has: values belong to the scope around their
// enum.
func (n *normaliser) enum(ed protoreflect.EnumDescriptor, constants map[string]bool) *descriptorpb.EnumDescriptorProto {
	out := &descriptorpb.EnumDescriptorProto{Name: proto.String(n.names[ed.FullName()])}
	seen := map[protoreflect.EnumNumber]bool{}
	add := func(name string, number protoreflect.EnumNumber) {
		if seen[number] {
			return // an alias
		}
		seen[number] = true
		if n.prefix != "" {
			name = strings.ToUpper(n.prefix) + "_" + name
		}
		for constants[constant(name)] {
			name = strings.ToUpper(out.GetName()) + "_" + name
		}
		constants[constant(name)] = true
		out.Value = append(out.Value, &descriptorpb.EnumValueDescriptorProto{Name: &name, Number: proto.Int32(int32(number))})
	}
	values := ed.Values()
	if !n.proto2 { // the first value must be zero
		if zero := values.ByNumber(0); zero != nil {
			add(trimmed(zero.Name()), 0)
		} else {
			add("NONE_OF_"+strings.ToUpper(out.GetName()), 0)
		}
	}
	for i := range values.Len() {
		add(trimmed(values.Get(i).Name()), values.Get(i).Number())
	}
	return out
}

// constant returns the generators' Go constant for a value.
func constant(name string) string { return pascal(strings.ToLower(name)) }

func trimmed(name protoreflect.Name) string {
	trim := strings.TrimLeft(string(name), "_0123456789")
	if trim == "" {
		return "X" + strings.ReplaceAll(string(name), "_", "")
	}
	return trim
}
