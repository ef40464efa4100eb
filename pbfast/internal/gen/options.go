package gen

import (
	"fmt"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Options are the plug-in's parameters.
type Options struct {
	Hook    bool   // proto.Marshal and proto.Unmarshal use the generated functions
	Methods bool   // exported methods, too, whose names begin with Prefix
	Prefix  string // of the methods' names
	VT      bool   // vtprotobuf's names, too
	Tag     string // the build tag of generated files
	// Named are the messages and fields that parameters name.
	Named map[protoreflect.FullName]named
	Reuse bool // all messages have UnmarshalReuse
}

// named is what parameters ask of a message, or of a field.
type named struct{ reuse, skip, alias bool }

// Set takes one of the parameters alias, reuse and skip, whose value is the full name of a message
// or, for alias, of a field.
func (o *Options) Set(parameter, name string) error {
	full := protoreflect.FullName(name)
	if !full.IsValid() {
		return fmt.Errorf("%s=%s: want the full name of a message or field, such as %s=package.Message", parameter, name, parameter)
	}
	if o.Named == nil {
		o.Named = map[protoreflect.FullName]named{}
	}
	n := o.Named[full]
	switch parameter {
	case "reuse":
		n.reuse = true
	case "skip":
		n.skip = true
	case "alias":
		n.alias = true
	}
	o.Named[full] = n
	return nil
}

// known refuses fields that their message does not have. A message may be missing: the plug-in can
// be called for each directory, with the same parameters.
func (o *Options) known(plugin *protogen.Plugin) error {
	for _, file := range plugin.Files {
		for name, asked := range o.Named {
			if err := checkName(file.Messages, name, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkName(messages []*protogen.Message, name protoreflect.FullName, asked named) error {
	for _, msg := range messages {
		d := msg.Desc
		switch {
		case d.FullName() != name.Parent():
		case d.Fields().ByName(name.Name()) != nil && (asked.reuse || asked.skip):
			return fmt.Errorf("reuse and skip take messages: %s is a field", name)
		case d.Fields().ByName(name.Name()) == nil && d.Messages().ByName(name.Name()) == nil:
			return fmt.Errorf("message %s has no field or message %s", d.FullName(), name.Name())
		}
		if err := checkName(msg.Messages, name, asked); err != nil {
			return err
		}
	}
	return nil
}
