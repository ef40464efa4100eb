package gen

import (
	"fmt"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Set takes one of the parameters own, share, alias and reuse, whose value is the full name of a
// message or, but for reuse, of a field.
func (o *Options) Set(parameter, name string) error {
	full := protoreflect.FullName(name)
	if !full.IsValid() {
		return fmt.Errorf("%s=%s: want the full name of a message or field, such as %s=package.Message", parameter, name, parameter)
	}
	if parameter == "reuse" {
		if o.ReuseOf == nil {
			o.ReuseOf = map[protoreflect.FullName]bool{}
		}
		o.ReuseOf[full] = true
		return nil
	}
	if o.Text == nil {
		o.Text = map[protoreflect.FullName]textMode{}
	}
	mode := map[string]textMode{"own": textOwn, "alias": textAlias, "share": textShare}[parameter]
	if other, ok := o.Text[full]; ok && other != mode {
		return fmt.Errorf("%s is named by two of own, share and alias", name)
	}
	o.Text[full] = mode
	return nil
}

// known refuses names that are nowhere in the files.
func (o *Options) known(plugin *protogen.Plugin) error {
	files := new(protoregistry.Files)
	for _, file := range plugin.Files {
		if err := files.RegisterFile(file.Desc); err != nil {
			return err
		}
	}
	for name := range o.Text {
		switch d, _ := files.FindDescriptorByName(name); d.(type) {
		case protoreflect.MessageDescriptor, protoreflect.FieldDescriptor:
		default:
			return fmt.Errorf("own, share or alias: there is no message or field %s in these files", name)
		}
	}
	for name := range o.ReuseOf {
		d, _ := files.FindDescriptorByName(name)
		if _, ok := d.(protoreflect.MessageDescriptor); !ok {
			return fmt.Errorf("reuse: there is no message %s in these files", name)
		}
	}
	return nil
}
