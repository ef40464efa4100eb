package gen

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/gofeaturespb"
)

// A message is one that methods are generated for.
type message struct {
	proto   *protogen.Message
	fields  []*field // by number
	ordered []*field // as protobuf-go encodes them
	slots   []*field // those whose values are in the parts
	element bool     // of a list or map of the package
	group   bool     // a field of the package holds it as a group
}

func (m *message) name() string { return m.proto.GoIdent.GoName }

// A field is a field of a message, or a map's key or value.
type field struct {
	*protogen.Field
	code coding
	utf8 bool // text is checked
}

// entry returns a map's key and value.
func (f *field) entry() (key, value *field) {
	return newField(f.Message.Fields[0]), newField(f.Message.Fields[1])
}

func newField(f *protogen.Field) *field {
	check, ok := f.Desc.(interface{ EnforceUTF8() bool })
	kind := f.Desc.Kind()
	return &field{f, codings[kind], kind == protoreflect.StringKind && (!ok || check.EnforceUTF8())}
}

func (f *field) number() protowire.Number { return f.Desc.Number() }
func (f *field) kind() protoreflect.Kind  { return f.Desc.Kind() }
func (f *field) list() bool               { return f.Desc.IsList() }
func (f *field) isMap() bool              { return f.Desc.IsMap() }
func (f *field) inOneof() bool            { return f.Oneof != nil && !f.Oneof.Desc.IsSynthetic() }
func (f *field) isMessage() bool {
	return f.kind() == protoreflect.MessageKind || f.kind() == protoreflect.GroupKind
}
func (f *field) text() bool {
	return f.kind() == protoreflect.StringKind || f.kind() == protoreflect.BytesKind
}

// pointer says whether the struct holds a pointer to a scalar.
func (f *field) pointer() bool {
	if opaque(f.Parent) && f.kind() != protoreflect.StringKind {
		return false
	}
	return !f.list() && !f.isMap() && !f.inOneof() && f.Desc.HasPresence() && !f.isMessage() && f.kind() != protoreflect.BytesKind
}

// single reports a message that is not an element, a map's value or in a oneof.
func (f *field) single() bool {
	return f.isMessage() && !f.list() && !f.isMap() && !f.inOneof()
}

func (f *field) packable() bool { return f.list() && f.code.isNumber() }

// tag is the field's tag with the given wire type.
func (f *field) tag(wire protowire.Type) uint64 { return protowire.EncodeTag(f.number(), wire) }

// ownTag is the tag that a field is encoded with.
func ownTag(f *field) uint64 {
	if f.list() && f.Desc.IsPacked() {
		return f.tag(protowire.BytesType)
	}
	return f.tag(f.code.wire)
}

// A model is all that generation knows of a package.
type model struct {
	messages map[protoreflect.FullName]*message
	files    map[*protogen.File][]*message
	sizes    map[*message]int // what sizeOf returned; huge while it is at it
}

// newModel collects the messages of one Go package for which code can be generated. skipped says
// which others there are, and why.
func newModel(files []*protogen.File, own protogen.GoImportPath, options Options) (m *model, skipped []string) {
	m = &model{map[protoreflect.FullName]*message{}, map[*protogen.File][]*message{}, map[*message]int{}}
	var add func(file *protogen.File, list []*protogen.Message)
	add = func(file *protogen.File, list []*protogen.Message) {
		for _, msg := range list {
			if msg.Desc.IsMapEntry() {
				continue
			}
			if why := unsupported(msg, options); why != "" {
				skipped = append(skipped, fmt.Sprintf("%s: %s: left to protobuf-go", msg.Desc.FullName(), why))
			} else {
				own := newMessage(msg)
				m.messages[msg.Desc.FullName()] = own
				m.files[file] = append(m.files[file], own)
			}
			add(file, msg.Messages)
		}
	}
	for _, file := range files {
		if file.GoImportPath == own {
			add(file, file.Messages)
		}
	}
	for _, file := range files {
		for _, msg := range m.files[file] {
			if m.slower(msg) {
				skipped = append(skipped, fmt.Sprintf("%s: protobuf-go codes half of its fields or more: not hooked", msg.proto.Desc.FullName()))
			}
		}
	}
	for _, msg := range m.messages {
		for _, f := range msg.fields {
			value := f
			if f.isMap() {
				_, value = f.entry()
			}
			if child := m.local(value); child != nil && (f.list() || f.isMap()) {
				child.element = true
			}
			if child := m.local(f); child != nil && f.kind() == protoreflect.GroupKind {
				child.group = true
			}
		}
		m.slotsOf(msg)
	}
	return m, skipped
}

// unsupported says why a message is left to protobuf-go.
func unsupported(msg *protogen.Message, options Options) string {
	if slices.Contains(options.Skip, string(msg.Desc.FullName())) {
		return "named by skip"
	}
	if msg.APILevel == gofeaturespb.GoFeatures_API_HYBRID { // its structs depend on a build tag
		return "has the hybrid API"
	}
	if extensible(msg) {
		return "can hold extensions"
	}
	if opaque(msg) && lazy(msg) {
		return "has fields that are decoded lazily"
	}
	if opaque(msg) {
		return ""
	}
	names := options.methods()
	const collides = "%s has the name of a method that would be generated"
	for _, f := range msg.Fields {
		if inStruct := f.Oneof == nil || f.Oneof.Desc.IsSynthetic(); inStruct && slices.Contains(names, f.GoName) {
			return fmt.Sprintf("field "+collides, f.Desc.Name())
		}
	}
	for _, oneof := range msg.Oneofs {
		if !oneof.Desc.IsSynthetic() && slices.Contains(names, oneof.GoName) {
			return fmt.Sprintf("oneof "+collides, oneof.Desc.Name())
		}
	}
	return ""
}

func newMessage(msg *protogen.Message) *message {
	m := &message{proto: msg}
	for _, f := range msg.Fields {
		m.fields = append(m.fields, newField(f))
	}
	slices.SortFunc(m.fields, func(a, b *field) int { return cmp.Compare(a.number(), b.number()) })
	m.ordered = slices.Clone(m.fields)
	// Oneofs last, in the order of their declaration: protobuf-go's order, for historic reasons.
	oneof := func(f *field) int {
		if !f.inOneof() {
			return -1
		}
		return f.Oneof.Desc.Index()
	}
	slices.SortStableFunc(m.ordered, func(a, b *field) int { return cmp.Compare(oneof(a), oneof(b)) })
	return m
}

// local returns the message of a field if methods are generated for it too.
func (m *model) local(f *field) *message {
	if f.Message == nil {
		return nil
	}
	return m.messages[f.Message.Desc.FullName()]
}

// foreign returns a field, or a map's value, if it holds messages that nothing is generated for here.
func (m *model) foreign(f *field) *field {
	if f.isMap() {
		_, f = f.entry()
	}
	if f.Message == nil || m.local(f) != nil {
		return nil
	}
	return f
}

// slower says whether half of a message's fields or more hold messages that protobuf-go codes in any
// case. Messages of other packages may have generated code, which Hook knows.
func (m *model) slower(msg *message) bool {
	slow := 0
	for _, f := range msg.fields {
		f = m.foreign(f)
		if f == nil {
			continue
		}
		d := f.Message.Desc
		comesAlong := d.FullName().Parent() == "google.protobuf" && !knownNames[d.Name()]
		if comesAlong || f.Message.GoIdent.GoImportPath == msg.proto.GoIdent.GoImportPath {
			slow++
		}
	}
	return slow > 0 && 2*slow >= len(msg.fields)
}

// knownNames are the messages of package google.protobuf that the run time encodes.
var knownNames = map[protoreflect.Name]bool{
	"Timestamp": true, "Duration": true, "Any": true, "BoolValue": true, "Int32Value": true, "UInt32Value": true,
	"Int64Value": true, "UInt64Value": true, "FloatValue": true, "DoubleValue": true, "StringValue": true,
}

// slotsOf sets the fields whose values are allocated together: optional scalars, then messages that
// do not contain themselves, as long as there is room.
func (m *model) slotsOf(msg *message) {
	left := maxSlotBytes
	add := func(f *field, size int) {
		if size <= left {
			left -= size
			msg.slots = append(msg.slots, f)
		}
	}
	for _, f := range msg.fields {
		if f.pointer() || f.boxed() && f.kind() == protoreflect.MessageKind {
			add(f, slotBytes(f))
		}
	}
	for _, f := range msg.fields {
		if child := m.local(f); child != nil && f.single() && f.kind() == protoreflect.MessageKind {
			add(f, m.sizeOf(child))
		}
	}
}

// slotBytes is the room for what a field of a struct points to, if it is no message.
func slotBytes(f *field) int {
	switch {
	case f.boxed():
		return 24
	case f.pointer():
		return 16
	}
	return 0
}

// The slots of a message are as large as this at most, with all that is within them. It bounds what
// two bytes of hostile input make a decoder allocate, and what is wasted where most of what is
// optional is missing.
const (
	maxSlotBytes = 256
	huge         = 1 << 30
)

// sizeOf estimates the bytes of a message's struct and all of its slots. It is huge for a message
// that contains itself, or another that does.
func (m *model) sizeOf(msg *message) int {
	if size, ok := m.sizes[msg]; ok {
		return size
	}
	m.sizes[msg] = huge // if it comes up again within itself
	m.sizes[msg] = m.computeSize(msg)
	return m.sizes[msg]
}

func (m *model) computeSize(msg *message) int {
	size, slots := 48, 0 // state, size cache, unknown fields
	for _, f := range msg.fields {
		switch {
		case f.boxed():
			size += 8
		case f.list() || !f.inOneof() && f.kind() == protoreflect.BytesKind:
			size += 24
		case f.inOneof() || f.kind() == protoreflect.StringKind && !f.pointer():
			size += 16
		default:
			size += 8
		}
		slots += slotBytes(f)
		if child := m.local(f); child != nil && f.single() && f.kind() == protoreflect.MessageKind {
			if s := m.sizeOf(child); s <= maxSlotBytes {
				slots += s
			} else if s >= huge {
				return huge
			}
		}
	}
	return size + min(slots, maxSlotBytes)
}

// hasText says whether a message has strings or bytes itself.
func hasText(msg *protogen.Message) bool {
	return slices.ContainsFunc(msg.Fields, func(f *protogen.Field) bool { return newField(f).text() })
}

// needsInit says whether a message can lack required fields.
func needsInit(msg *protogen.Message) bool { return reaches(msg, extensible) || hasRequired(msg) }

// hasRequired is needsInit without what extensions can lack.
func hasRequired(msg *protogen.Message) bool {
	return reaches(msg, func(msg *protogen.Message) bool { return msg.Desc.RequiredNumbers().Len() > 0 })
}

// lazy says whether fields of a message are decoded when they are asked for.
func lazy(msg *protogen.Message) bool {
	return slices.ContainsFunc(msg.Fields, func(f *protogen.Field) bool {
		lazy, ok := f.Desc.(interface{ IsLazy() bool })
		return ok && lazy.IsLazy()
	})
}

func extensible(msg *protogen.Message) bool { return msg.Desc.ExtensionRanges().Len() > 0 }

// reaches says whether something holds for a message or for one that can be within it.
func reaches(msg *protogen.Message, holds func(*protogen.Message) bool) bool {
	seen := map[protoreflect.FullName]bool{}
	var walk func(*protogen.Message) bool
	walk = func(msg *protogen.Message) bool {
		if seen[msg.Desc.FullName()] {
			return false
		}
		seen[msg.Desc.FullName()] = true
		return holds(msg) || slices.ContainsFunc(msg.Fields, func(f *protogen.Field) bool {
			return f.Message != nil && walk(f.Message)
		})
	}
	return walk(msg)
}
