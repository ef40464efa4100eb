package codegen

import (
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var capnpForm = form{name: "capnp", prefix: "capn", Type: "capnmsg.", Fails: true, ByteText: true}

// writeCapnp writes a Cap'n Proto schema, and package capnmsg, which capnp and its Go plug-in make
// from it.
func writeCapnp(s *schema, internal string) error {
	dir := filepath.Join(internal, "capnmsg")
	if err := clear(dir, "*.go"); err != nil {
		return err
	}
	path := filepath.Join(dir, "messages.capnp")
	text, err := render("capnp schema", page{schema: s})
	if err == nil {
		err = save(path, []byte(text))
	}
	if err != nil {
		return err
	}
	std, err := pipeFrom(s.tools(), nil, "go", "list", "-m", "-f", "{{.Dir}}", "capnproto.org/go/capnp/v3")
	if err != nil {
		return err
	}
	request, err := pipeFrom("", nil, "capnp", "compile", "-o-", "-I"+filepath.Join(strings.TrimSpace(string(std)), "std"), "--src-prefix="+dir, path)
	if err != nil {
		return fmt.Errorf("capnp, of Debian's package capnproto: %w", err)
	}
	// The plug-in writes into its working directory.
	plugin, err := s.toolPath("capnpc-go")
	if err != nil {
		return err
	}
	// These flags leave out what only String methods need, mostly the format's own schema.
	return pipeIn(dir, request, plugin, "-schemas=false", "-structstrings=false")
}

// capnpName returns the field's name in the schema. Some names are taken by methods of Go's
// structs.
func capnpName(fd protoreflect.FieldDescriptor) string {
	if fd.Name() == "message" {
		return "messageText"
	}
	return lowerCamel(string(fd.Name()))
}

func capnpGoName(fd protoreflect.FieldDescriptor) string {
	name := capnpName(fd)
	return strings.ToUpper(name[:1]) + name[1:]
}

// entryName returns the type of a map's entries.
func entryName(fd protoreflect.FieldDescriptor) string {
	return string(fd.Parent().Name()) + goName(fd) + "Entry"
}

// capnpValue returns an enum value's name in the schema.
func capnpValue(value protoreflect.EnumValueDescriptor) string {
	return lowerCamel(strings.ToLower(string(value.Name())))
}

func capnpElem(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.EnumKind:
		return plainElem(fd)
	case protoreflect.StringKind:
		return "Text"
	case protoreflect.BytesKind:
		return "Data"
	}
	name := goScalar(fd)
	return strings.Replace(strings.ToUpper(name[:1])+name[1:], "Uint", "UInt", 1)
}

// capnpSet sets a value that is not a message by the beginning of a call.
func capnpSet(fd protoreflect.FieldDescriptor, call, value string) string {
	switch {
	case flatHeld(fd):
		return "if err := " + call + value + "); err != nil { return err }"
	case isEnum(fd):
		return call + "capnmsg." + string(fd.Enum().Name()) + "(" + value + "))"
	}
	return call + value + ")"
}

// Get declares a variable with an accessor's value. It reads text as bytes. Following a pointer can
// fail.
func (w walk) Get(fd protoreflect.FieldDescriptor, variable, holder, accessor, args string) string {
	held := flatHeld(fd) && !(isMessage(fd) && accessor == "At")
	if fd.Kind() == protoreflect.StringKind {
		if accessor == "At" {
			accessor = "BytesAt"
		} else {
			accessor += "Bytes"
		}
	}
	if held {
		return fmt.Sprintf("%s, err := %s.%s(%s)\n%s", variable, holder, accessor, args, w.Failed())
	}
	return fmt.Sprintf("%s := %s.%s(%s)", variable, holder, accessor, args)
}
