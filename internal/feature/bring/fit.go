package bring

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// members reports whether an object may have a member, and returns the members of the objects within
// that one. If it is nil, an object may have any member.
type members func(key string) (inner members, known bool)

// walkJSON visits the tokens of a valid JSON value, except closing ones. visit gets the path of the
// value that a token belongs to, and the offset where the token ends.
func walkJSON(raw []byte, top members, visit func(path string, end int64, known bool)) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value func(path string, allowed members)
	value = func(path string, allowed members) {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		visit(path, decoder.InputOffset(), true)
		delim, _ := token.(json.Delim)
		if delim == 0 {
			return
		}
		for i := 0; decoder.More(); i++ {
			if delim == '[' {
				value(fmt.Sprintf("%s[%d]", path, i), allowed)
				continue
			}
			token, err := decoder.Token()
			if err != nil {
				return
			}
			key, _ := token.(string)
			at, inner, known := strings.TrimPrefix(path+"."+key, "."), members(nil), true
			if allowed != nil {
				inner, known = allowed(key)
			}
			visit(at, decoder.InputOffset(), known)
			value(at, inner)
		}
		_, _ = decoder.Token()
	}
	value("", top)
}

// unknownJSON returns the paths of members that a value should not have.
func unknownJSON(raw []byte, top members) (paths []string) {
	walkJSON(raw, top, func(path string, _ int64, known bool) {
		if !known {
			paths = append(paths, path)
		}
	})
	return paths
}

// messageMembers returns a protobuf message's members in JSON, nil for a well-known type, which has
// a form of its own.
func messageMembers(md protoreflect.MessageDescriptor) members {
	file := md.ParentFile()
	if file.Package() == "google.protobuf" && file.Path() != "google/protobuf/descriptor.proto" {
		return nil
	}
	return func(key string) (members, bool) {
		fd := md.Fields().ByJSONName(key)
		if fd == nil {
			fd = md.Fields().ByTextName(key)
		}
		switch {
		case fd == nil:
			return nil, false
		case fd.IsMap() && fd.MapValue().Message() != nil:
			return func(string) (members, bool) { return messageMembers(fd.MapValue().Message()), true }, true
		case fd.IsMap() || fd.Message() == nil:
			return nil, true
		}
		return messageMembers(fd.Message()), true
	}
}

// goMembers returns the members that encoding/json decodes into a Go type.
func goMembers(t types.Type) members {
	for range 32 { // a slice type may contain itself
		methods := types.NewMethodSet(types.NewPointer(t))
		if methods.Lookup(nil, "UnmarshalJSON") != nil || methods.Lookup(nil, "UnmarshalText") != nil {
			return nil
		}
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Map:
			return func(string) (members, bool) { return goMembers(u.Elem()), true }
		case *types.Struct:
			return func(key string) (members, bool) {
				for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
					if field := goField(u, func(name string) bool { return same(name, key) }); field != nil {
						return goMembers(field), true
					}
				}
				return nil, false
			}
		default:
			return nil
		}
	}
	return nil
}

// goField finds a field by its name in JSON, also in embedded structs, and returns its type.
func goField(st *types.Struct, is func(name string) bool) types.Type {
	seen := map[*types.Struct]bool{}
	for level := []*types.Struct{st}; len(level) > 0; {
		var next []*types.Struct
		for _, st := range level {
			if seen[st] {
				continue
			}
			seen[st] = true
			for i := range st.NumFields() {
				field, tag := st.Field(i), reflect.StructTag(st.Tag(i)).Get("json")
				name, _, _ := strings.Cut(tag, ",")
				held := field.Type()
				if p, ok := held.Underlying().(*types.Pointer); ok {
					held = p.Elem()
				}
				embedded, isStruct := held.Underlying().(*types.Struct)
				switch {
				case tag == "-":
				case field.Embedded() && isStruct && name == "":
					next = append(next, embedded)
				case field.Exported() && (is(name) || name == "" && is(field.Name())):
					return field.Type()
				}
			}
		}
		level = next
	}
	return nil
}

// protobufPlace matches the place in protobuf's errors.
var protobufPlace = regexp.MustCompile(`^proto:\s*(?:syntax error )?\(line (\d+):(\d+)\):\s*`)

// misfit returns an error for a sample that does not fit its message. It names the place in the
// file, where raw begins at a line, and the field.
func misfit(path string, line int, raw []byte, name protoreflect.FullName, err error) error {
	text := plainSpaces(err)
	m := protobufPlace.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s:%d: the sample does not fit %s: %s", path, line, name, text)
	}
	text = text[len(m[0]):]
	row, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	field := cmp.Or(pathAt(raw, offsetOf(raw, row, column)), "the sample")
	return fmt.Errorf("%s:%d: %s does not fit %s: %s", path, line+row-1, field, name, text)
}

// plainSpaces returns the text of protobuf's error, whose spaces vary on purpose.
func plainSpaces(err error) string {
	return strings.TrimSpace(strings.ReplaceAll(err.Error(), "\u00a0", " "))
}

// offsetOf returns the offset of a line and a column in characters, both from 1.
func offsetOf(text []byte, line, column int) int64 {
	offset := 0
	for ; line > 1; line-- {
		offset += 1 + bytes.IndexByte(text[offset:], '\n')
	}
	for ; column > 1 && offset < len(text); column-- {
		_, n := utf8.DecodeRune(text[offset:])
		offset += n
	}
	return int64(offset)
}

// pathAt returns the path at an offset of a JSON value, "" for the value itself.
func pathAt(raw []byte, offset int64) (at string) {
	found := false
	walkJSON(raw, nil, func(path string, end int64, _ bool) {
		if !found && end > offset {
			at, found = path, true
		}
	})
	return at
}

// unknownFieldsOf returns the paths of the unknown fields of a message and of the messages within it.
func unknownFieldsOf(m protoreflect.Message, path string) (unknown []string) {
	for rest := m.GetUnknown(); len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		unknown = append(unknown, fmt.Sprintf("%s%d", path, number))
		rest = rest[n:]
	}
	descend := func(v protoreflect.Value, path string) {
		unknown = append(unknown, unknownFieldsOf(v.Message(), path+".")...)
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + string(fd.Name())
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
				descend(v, fmt.Sprintf("%s[%v]", at, key))
				return true
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				descend(v.List().Get(i), fmt.Sprintf("%s[%d]", at, i))
			}
		case !fd.IsMap() && fd.Message() != nil:
			descend(v, at)
		}
		return true
	})
	return unknown
}
