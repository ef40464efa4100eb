package bring

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A shape is the type of all values at one place of JSON samples.
type shape struct {
	kind    string // "message", "map", "list", "text" (JSON as it is), "time", "uuid", "enum", or a scalar type's name in a schema
	fields  map[string]*shape
	names   map[string]protoreflect.Name // the fields' names in the schema
	order   []string                     // the fields' order
	element *shape                       // a list's elements, or a map's values
	words   []string                     // an enum's
	full    string                       // a message's full name in the schema, once it is declared
}

var scalarTypes = map[string]descriptorpb.FieldDescriptorProto_Type{
	"bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL, "double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	"int64": descriptorpb.FieldDescriptorProto_TYPE_INT64, "uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "text": descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"uuid": descriptorpb.FieldDescriptorProto_TYPE_BYTES, "time": descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, "enum": descriptorpb.FieldDescriptorProto_TYPE_ENUM,
}

// mostMessages limits the types of a schema of JSON: every codec compiles each of them.
const mostMessages = 200

// shaper makes shapes from the samples' values.
type shaper struct {
	messages map[string]*shape // by their fields and these fields' types
	texts    []string          // places that become JSON text, with the reason
	nested   []string          // places of lists in lists and the like, which get a message of one field
	typed    bool              // strings have types
	strings  []string          // places of strings that could have types, and which
}

// shaped returns the schema for samples whose values root describes.
func shaped(root *seen, file, name string, typed bool) (*Schema, error) {
	sh := &shaper{messages: map[string]*shape{}, typed: typed}
	top := sh.top(root)
	if n := len(sh.messages); n > mostMessages {
		return nil, fmt.Errorf("%s: objects of %d kinds, at most %d: name a part of the documents with --path", file, n, mostMessages)
	}
	described := &descriptorpb.FileDescriptorProto{Name: &file, Package: proto.String("json"), Syntax: proto.String("proto3")}
	described.MessageType = append(described.MessageType, top.descriptor(name, ".json."+name))
	if typed {
		described.Dependency = []string{"google/protobuf/timestamp.proto"}
	}
	linked, err := protodesc.NewFile(described, protoregistry.GlobalFiles)
	if err != nil {
		return nil, fmt.Errorf("%s: make a schema of it: %w", file, err)
	}
	s := &Schema{files: []protoreflect.FileDescriptor{linked}, json: top}
	for _, note := range []struct {
		places []string
		what   string
	}{{sh.texts, "kept as JSON text"}, {sh.nested, "in a message each"}, {sh.strings, "kept as text: with --typed they have types"}} {
		if n := len(note.places); n > 0 {
			places := strings.Join(note.places[:min(n, 3)], "; ")
			if n > 3 {
				places += fmt.Sprintf("; and %d more", n-3)
			}
			s.Notes = append(s.Notes, places+": "+note.what)
		}
	}
	return s, nil
}

// top returns the shape of the samples. A dictionary is a message with one map.
func (sh *shaper) top(root *seen) *shape {
	if len(root.order) >= manyKeys && root.mapValue() != nil {
		return sh.element(root, "")
	}
	return sh.message(root, "")
}

func (sh *shaper) text(path, why string) *shape {
	sh.texts = append(sh.texts, fmt.Sprintf("%s (%s)", strings.TrimPrefix(path, "."), why))
	return &shape{kind: "text"}
}

// shape returns the shape of a place's values.
func (sh *shaper) shape(s *seen, path string) *shape {
	switch {
	case len(s.kinds) == 0:
		return &shape{kind: "string"} // never anything but null
	case len(s.kinds) > 1:
		return sh.text(path, fmt.Sprintf("%s at line %d, %s at line %d", s.kinds[0].kind, s.kinds[0].line, s.kinds[1].kind, s.kinds[1].line))
	}
	switch s.kinds[0].kind {
	case "a string":
		kind := s.strings.typed()
		if kind != "string" && !sh.typed {
			sh.strings = append(sh.strings, fmt.Sprintf("%s (%s)", strings.TrimPrefix(path, "."), kind))
			kind = "string"
		}
		return &shape{kind: kind, words: s.strings.words}
	case "a boolean":
		return &shape{kind: "bool"}
	case "a number":
		switch n := s.numbers; {
		case n.fraction && n.wide, !n.fraction && n.large && n.negative:
			return sh.text(path, "numbers that neither a double nor an integer holds")
		case n.fraction:
			return &shape{kind: "double"}
		case n.large:
			return &shape{kind: "uint64"}
		}
		return &shape{kind: "int64"}
	case "a list":
		if s.element.null != 0 {
			return sh.text(path, fmt.Sprintf("null among its elements at line %d", s.element.null))
		}
		return &shape{kind: "list", element: sh.element(s.element, path+"[]")}
	}
	if value := s.mapValue(); value != nil {
		return &shape{kind: "map", element: sh.element(value, path+".*")}
	}
	return sh.message(s, path)
}

// element returns the shape of an element. It wraps a list or a map in a message.
func (sh *shaper) element(s *seen, path string) *shape {
	element := sh.shape(s, path)
	if element.kind != "list" && element.kind != "map" {
		return element
	}
	if path != "" {
		sh.nested = append(sh.nested, strings.TrimPrefix(path, "."))
	}
	return sh.intern(&shape{kind: "message", order: []string{""}, fields: map[string]*shape{"": element}, names: map[string]protoreflect.Name{"": "items"}})
}

func (sh *shaper) message(s *seen, path string) *shape {
	m := &shape{kind: "message", order: s.order, fields: map[string]*shape{}, names: map[string]protoreflect.Name{}}
	used := map[string]bool{}
	for _, key := range s.order {
		name := snake(identifier(key))
		for used[pascal(name)] {
			name += "x"
		}
		used[pascal(name)] = true
		m.names[key], m.fields[key] = protoreflect.Name(name), sh.shape(s.fields[key], path+"."+key)
	}
	return sh.intern(m)
}

// intern returns the first message with the same fields, so that equal messages are one type.
func (sh *shaper) intern(m *shape) *shape {
	var fields []string
	for key, field := range m.fields {
		fields = append(fields, fmt.Sprintf("%q %s %s", key, m.names[key], field.identity()))
	}
	slices.Sort(fields)
	all := strings.Join(fields, "\n")
	if sh.messages[all] == nil {
		sh.messages[all] = m
	}
	return sh.messages[all]
}

// identity is equal for shapes that have the same type in the schema.
func (s *shape) identity() string {
	switch s.kind {
	case "message":
		return fmt.Sprintf("%p", s)
	case "list", "map":
		return s.kind + " " + s.element.identity()
	case "enum":
		return s.kind + " " + strings.Join(s.words, " ")
	}
	return s.kind
}

// untagged are characters that a key of a Go struct's tag cannot have.
const untagged = "\",\\`"

// descriptor returns a message's descriptor.
func (s *shape) descriptor(name, full string) *descriptorpb.DescriptorProto {
	out := &descriptorpb.DescriptorProto{Name: &name}
	for i, key := range s.order {
		value, fieldName := s.fields[key], string(s.names[key])
		field := &descriptorpb.FieldDescriptorProto{
			Name: &fieldName, JsonName: &key, Number: proto.Int32(int32(number(i))), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if key == "" || strings.ContainsAny(key, untagged) {
			field.JsonName = &fieldName
		}
		typeName := pascal(fieldName) + "Value"
		switch value.kind {
		case "list":
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			value.element.setType(field, out, typeName, full)
		case "map":
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			entryName := pascal(fieldName) + "Entry"
			entry := &descriptorpb.FieldDescriptorProto{Name: proto.String("value"), Number: proto.Int32(2), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			value.element.setType(entry, out, typeName, full)
			out.NestedType = append(out.NestedType, &descriptorpb.DescriptorProto{Name: &entryName, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}, Field: []*descriptorpb.FieldDescriptorProto{
				{Name: proto.String("key"), Number: proto.Int32(1), Label: entry.Label, Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()}, entry,
			}})
			field.Type, field.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(full+"."+entryName)
		default:
			value.setType(field, out, typeName, full)
			field.Proto3Optional, field.OneofIndex = proto.Bool(true), proto.Int32(int32(len(out.OneofDecl)))
			out.OneofDecl = append(out.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + fieldName)})
		}
		out.Field = append(out.Field, field)
	}
	return out
}

// setType sets a field's type. It declares a new message within message in.
func (s *shape) setType(field *descriptorpb.FieldDescriptorProto, in *descriptorpb.DescriptorProto, name, full string) {
	switch s.kind {
	case "message":
	case "time":
		field.TypeName = proto.String(".google.protobuf.Timestamp")
		fallthrough
	default:
		field.Type = scalarTypes[s.kind].Enum()
		return
	case "enum":
		enum := &descriptorpb.EnumDescriptorProto{Name: &name}
		for i, word := range s.words {
			enum.Value = append(enum.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(name + "_" + word), Number: proto.Int32(int32(i))})
		}
		in.EnumType = append(in.EnumType, enum)
		field.Type, field.TypeName = scalarTypes[s.kind].Enum(), proto.String(full+"."+name)
		return
	}
	if s.full == "" {
		s.full = full + "." + name
		in.NestedType = append(in.NestedType, s.descriptor(name, s.full))
	}
	field.Type, field.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), &s.full
}

// number returns the number of the i-th field. It skips numbers that protobuf reserves.
func number(i int) int {
	if i+1 >= 19000 {
		return i + 1001
	}
	return i + 1
}

// A filler fills messages with JSON of a shape.
type filler struct{ unknown []string } // paths of unknown members

// fill sets a message's fields. If within made the message around an element, it sets the only
// field.
func (f *filler) fill(s *shape, m protoreflect.Message, raw []byte, path string) error {
	fields := m.Descriptor().Fields()
	if len(s.order) == 1 && s.order[0] == "" && s.names[""] == "items" {
		return f.set(s.fields[""], m, fields.ByName("items"), raw, path)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("%s is %s here, and an object elsewhere", strings.TrimPrefix(path, "."), kindOf(raw))
	}
	for key, raw := range object {
		at := path + "." + key
		switch field := s.fields[key]; {
		case field == nil:
			f.unknown = append(f.unknown, strings.TrimPrefix(at, "."))
		case raw[0] != 'n': // null
			if err := f.set(field, m, fields.ByName(s.names[key]), raw, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *filler) set(s *shape, m protoreflect.Message, fd protoreflect.FieldDescriptor, raw []byte, path string) error {
	wrong := func() error {
		return fmt.Errorf("%s is %s here, and a %s elsewhere", strings.TrimPrefix(path, "."), kindOf(raw), s.kind)
	}
	switch s.kind {
	case "list":
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return wrong()
		}
		list := m.Mutable(fd).List()
		for i, raw := range elements {
			v, err := f.value(s.element, raw, fmt.Sprintf("%s[%d]", path, i), list.NewElement)
			if err != nil {
				return err
			}
			list.Append(v)
		}
		return nil
	case "map":
		var values map[string]json.RawMessage
		if json.Unmarshal(raw, &values) != nil {
			return wrong()
		}
		entries := m.Mutable(fd).Map()
		for key, raw := range values {
			v, err := f.value(s.element, raw, path+"."+key, entries.NewValue)
			if err != nil {
				return err
			}
			entries.Set(protoreflect.ValueOfString(key).MapKey(), v)
		}
		return nil
	}
	v, err := f.value(s, raw, path, func() protoreflect.Value { return m.NewField(fd) })
	if err == nil {
		m.Set(fd, v)
	}
	return err
}

// value returns a value that is neither list nor map. fresh makes a new message.
func (f *filler) value(s *shape, raw []byte, path string, fresh func() protoreflect.Value) (protoreflect.Value, error) {
	var v protoreflect.Value
	var err error
	if raw[0] == 'n' && s.kind != "text" {
		return v, fmt.Errorf("%s is null here, and %s elsewhere", strings.TrimPrefix(path, "."), s.kind)
	}
	switch s.kind {
	case "message":
		v = fresh()
		return v, f.fill(s, v.Message(), raw, path)
	case "text":
		var compact bytes.Buffer
		err = json.Compact(&compact, raw)
		return protoreflect.ValueOfString(compact.String()), err
	case "string":
		var text string
		err = json.Unmarshal(raw, &text)
		v = protoreflect.ValueOfString(text)
	case "time":
		var at time.Time
		err = json.Unmarshal(raw, &at)
		v = fresh()
		fields := v.Message().Descriptor().Fields()
		v.Message().Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(at.Unix()))
		v.Message().Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(int32(at.Nanosecond())))
	case "uuid":
		var text string
		var id []byte
		if err = json.Unmarshal(raw, &text); err == nil {
			id, err = hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		}
		v = protoreflect.ValueOfBytes(id)
	case "enum":
		var text string
		err = json.Unmarshal(raw, &text)
		word := slices.Index(s.words, text)
		if word < 0 && err == nil {
			err = errors.New("a word that no sample of the schema has")
		}
		v = protoreflect.ValueOfEnum(protoreflect.EnumNumber(word))
	case "bool":
		v = protoreflect.ValueOfBool(string(raw) == "true")
		if kindOf(raw) != "a boolean" {
			err = errors.New("no boolean")
		}
	case "int64":
		var n int64
		n, err = strconv.ParseInt(string(raw), 10, 64)
		v = protoreflect.ValueOfInt64(n)
	case "uint64":
		var n uint64
		n, err = strconv.ParseUint(string(raw), 10, 64)
		v = protoreflect.ValueOfUint64(n)
	case "double":
		var n float64
		n, err = strconv.ParseFloat(string(raw), 64)
		v = protoreflect.ValueOfFloat64(n)
	}
	if err != nil {
		return v, fmt.Errorf("%s is %.40s here, and %s elsewhere", strings.TrimPrefix(path, "."), raw, s.kind)
	}
	return v, nil
}

// sample fills a message with a JSON sample, and returns the paths of the sample's unknown members.
func (s *shape) sample(m protoreflect.Message, raw []byte) (unknown []string, err error) {
	var f filler
	err = f.fill(s, m, raw, "")
	slices.Sort(f.unknown)
	return f.unknown, err
}
