package bring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// IsJSON reports whether a file is JSON, by its extension.
func IsJSON(path string) bool {
	switch filepath.Ext(path) {
	case ".json", ".ndjson", ".jsonl":
		return true
	}
	return false
}

// Infer makes a schema from JSON samples alone. Every field is optional. Numbers are int64 if all
// of them are whole, else double. An object is a message or, if its keys are data and its values
// have one scalar type, a map from strings.
func Infer(path string) (*Schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	in := &inferrer{file: path, data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	in.decoder.UseNumber()
	root := &inferred{kind: "object"}
	if err := in.samples(root); err != nil {
		return nil, err
	}
	if root.objects == 0 {
		return nil, fmt.Errorf("%s: there are no samples in it", path)
	}
	name := pascal(identifier(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))))
	file := &descriptorpb.FileDescriptorProto{Name: proto.String(filepath.Base(path)), Package: proto.String("json"), Syntax: proto.String("proto3")}
	file.MessageType = append(file.MessageType, root.message(name, ".json."+name))
	linked, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: make a schema of it: %w", path, err)
	}
	return &Schema{files: []protoreflect.FileDescriptor{linked}}, nil
}

// An inferred is what is known about the values at one place of a sample.
type inferred struct {
	kind    string // "object", "string", "integer", "number", "boolean"; "" if all were null or no element was seen
	line    int    // where it was first seen
	list    bool
	scalar  bool // seen without a list
	fields  map[string]*inferred
	order   []string
	objects int // how many there were
	keys    int // how many keys they have in all
}

type inferrer struct {
	file    string
	data    []byte
	decoder *json.Decoder
}

func (in *inferrer) line() int { return lineOf(in.data, in.decoder.InputOffset()) }

func (in *inferrer) samples(root *inferred) error {
	array := bytes.HasPrefix(bytes.TrimLeft(in.data, " \t\r\n"), []byte("["))
	if array {
		if _, err := in.decoder.Token(); err != nil {
			return err
		}
	}
	for in.decoder.More() {
		token, err := in.decoder.Token()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", in.file, in.line(), err)
		}
		if token != json.Delim('{') {
			return fmt.Errorf("%s:%d: a sample must be an object, not %v", in.file, in.line(), token)
		}
		if err := in.object(root, ""); err != nil {
			return err
		}
	}
	if _, err := in.decoder.Token(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: %w", in.file, in.line(), err)
	}
	return nil
}

// object reads an object after its opening brace.
func (in *inferrer) object(at *inferred, path string) error {
	at.objects++
	if at.fields == nil {
		at.fields = map[string]*inferred{}
	}
	for in.decoder.More() {
		token, err := in.decoder.Token()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", in.file, in.line(), err)
		}
		key := token.(string)
		at.keys++
		field := at.fields[key]
		if field == nil {
			field = &inferred{line: in.line()}
			at.fields[key], at.order = field, append(at.order, key)
		}
		if err := in.value(field, strings.TrimPrefix(path+"."+key, "."), false); err != nil {
			return err
		}
	}
	_, err := in.decoder.Token()
	return err
}

func (in *inferrer) value(at *inferred, path string, within bool) error {
	token, err := in.decoder.Token()
	if err != nil {
		return fmt.Errorf("%s:%d: %s: %w", in.file, in.line(), path, err)
	}
	kind := ""
	switch token := token.(type) {
	case nil:
		if within {
			return fmt.Errorf("%s:%d: %s has a null among its elements, which no schema can express", in.file, in.line(), path)
		}
		return nil
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case json.Number:
		kind = "number"
		if _, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
			kind = "integer"
		}
	case json.Delim:
		if token == '[' {
			if within {
				return fmt.Errorf("%s:%d: %s is a list of lists, which no schema can express: give a .proto file instead", in.file, in.line(), path)
			}
			if at.scalar {
				return fmt.Errorf("%s:%d: %s is a list here, but not at line %d: give a .proto file instead", in.file, in.line(), path, at.line)
			}
			at.list = true
			for i := 0; in.decoder.More(); i++ {
				if err := in.value(at, fmt.Sprintf("%s[%d]", path, i), true); err != nil {
					return err
				}
			}
			_, err := in.decoder.Token()
			return err
		}
		kind = "object"
	}
	switch {
	case !within && at.list:
		return fmt.Errorf("%s:%d: %s is not a list here, but is one at line %d: give a .proto file instead", in.file, in.line(), path, at.line)
	case at.kind == "", at.kind == "integer" && kind == "number":
		at.kind = kind
	case at.kind == "number" && kind == "integer":
	case at.kind != kind:
		return fmt.Errorf("%s:%d: %s is of mixed type: %s here, and %s at line %d: give a .proto file instead", in.file, in.line(), path, kind, at.kind, at.line)
	}
	at.scalar = at.scalar || !within
	if kind == "object" {
		return in.object(at, path)
	}
	return nil
}

var isIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mapValue returns the type of all of an object's values if its keys are data: if some of them are
// not identifiers, or new ones keep appearing.
func (v *inferred) mapValue() *inferred {
	var all *inferred
	data := len(v.order) >= 16 && len(v.order)*v.objects > 4*v.keys
	for _, key := range v.order {
		field := v.fields[key]
		data = data || !isIdentifier.MatchString(key)
		if field.list || field.kind == "object" || field.kind == "" || all != nil && all.kind != field.kind {
			return nil
		}
		all = field
	}
	if !data {
		return nil
	}
	return all
}

var otherRunes = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// identifier makes an identifier from any text.
func identifier(text string) string {
	name := strings.Trim(otherRunes.ReplaceAllString(text, "_"), "_")
	if name == "" || name[0] <= '9' {
		return "x" + name
	}
	return name
}

func (v *inferred) message(name, full string) *descriptorpb.DescriptorProto {
	out := &descriptorpb.DescriptorProto{Name: &name}
	used := map[string]bool{}
	for i, key := range v.order {
		part := v.fields[key]
		fieldName := snake(identifier(key))
		for used[pascal(fieldName)] {
			fieldName += "x"
		}
		used[pascal(fieldName)] = true
		field := &descriptorpb.FieldDescriptorProto{
			Name: &fieldName, JsonName: proto.String(key), Number: proto.Int32(int32(number(i))),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: part.scalarType().Enum(),
		}
		typeName := pascal(fieldName) + "Value"
		switch value := part.mapValue(); {
		case part.kind == "object" && value != nil && !part.list:
			field.Label, field.Type = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			typeName = pascal(fieldName) + "Entry"
			entry := &descriptorpb.DescriptorProto{Name: &typeName, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}, Field: []*descriptorpb.FieldDescriptorProto{
				{Name: proto.String("key"), Number: proto.Int32(1), Label: field.Label, Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()},
				{Name: proto.String("value"), Number: proto.Int32(2), Label: field.Label, Type: value.scalarType().Enum()},
			}}
			for _, f := range entry.Field {
				f.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
			}
			out.NestedType = append(out.NestedType, entry)
			field.TypeName = proto.String(full + "." + typeName)
		case part.kind == "object":
			out.NestedType = append(out.NestedType, part.message(typeName, full+"."+typeName))
			field.TypeName = proto.String(full + "." + typeName)
		}
		if part.list {
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if field.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL {
			field.Proto3Optional, field.OneofIndex = proto.Bool(true), proto.Int32(int32(len(out.OneofDecl)))
			out.OneofDecl = append(out.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + fieldName)})
		}
		out.Field = append(out.Field, field)
	}
	return out
}

// number returns the field's number. It skips those that protobuf reserves.
func number(i int) int {
	if i+1 >= 19000 {
		return i + 1001
	}
	return i + 1
}

func (v *inferred) scalarType() descriptorpb.FieldDescriptorProto_Type {
	switch v.kind {
	case "integer":
		return descriptorpb.FieldDescriptorProto_TYPE_INT64
	case "number":
		return descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	case "boolean":
		return descriptorpb.FieldDescriptorProto_TYPE_BOOL
	case "object":
		return descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	return descriptorpb.FieldDescriptorProto_TYPE_STRING
}
