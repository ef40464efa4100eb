package gen

import (
	"fmt"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	messages, fields := map[protoreflect.FullName]bool{}, map[protoreflect.FullName]bool{}
	var add func([]*protogen.Message)
	add = func(list []*protogen.Message) {
		for _, msg := range list {
			messages[msg.Desc.FullName()] = true
			for _, f := range msg.Fields {
				fields[f.Desc.FullName()] = true
			}
			add(msg.Messages)
		}
	}
	for _, file := range plugin.Files {
		add(file.Messages)
	}
	for name := range o.Text {
		if !messages[name] && !fields[name] {
			return fmt.Errorf("own, share or alias: there is no message or field %s in these files", name)
		}
	}
	for name := range o.ReuseOf {
		if !messages[name] {
			return fmt.Errorf("reuse: there is no message %s in these files", name)
		}
	}
	return nil
}

// reusable says whether a message has UnmarshalReuse: it was asked for, or a message that holds it
// was.
func (g *generator) reusable(msg *message) bool {
	if g.options.Reuse {
		return true
	}
	if g.model.reused == nil {
		g.model.reused = map[*message]bool{}
		var walk func(*message)
		walk = func(msg *message) {
			if msg == nil || g.model.reused[msg] {
				return
			}
			g.model.reused[msg] = true
			for _, f := range msg.fields {
				walk(g.model.local(f))
			}
		}
		for name := range g.options.ReuseOf {
			walk(g.model.messages[name])
		}
	}
	return g.model.reused[msg]
}
