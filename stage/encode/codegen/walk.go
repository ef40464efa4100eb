package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A form is how a library holds a message v. Its templates, named after it and a field's shape, get
// a field's value. Templates in templates/walk.tmpl, the same for all forms, use the value.
type form struct {
	name     string
	prefix   string // begins its functions' names: capnToOrder
	Type     string // begins its messages' types: "*pb."
	Fails    bool   // values come with an error
	ByteText bool   // text comes as bytes
	structForm
}

// A walk is a function over all fields of a message: "To" sets the plain struct m, "Read" returns a
// sum.
type walk struct {
	Form    *form
	Verb    string
	Some    bool // Read reads two fields only
	Message protoreflect.MessageDescriptor
	Field   protoreflect.FieldDescriptor // the current field

	Of             protoreflect.FieldDescriptor // the field or, for a map, its value
	K, X           string                       // a key and a value in the form
	Plain, Pointer string                       // the value in the plain struct, and its address
}

// Walk is the function's code.
func (f *form) Walk(verb string, md protoreflect.MessageDescriptor) (string, error) {
	return render("walk", walk{Form: f, Verb: verb, Message: md})
}

// Some is the code of bind.Form's Some, which reads two fields of a root message.
func (f *form) Some(md protoreflect.MessageDescriptor) (string, error) {
	return render("walk", walk{Form: f, Verb: "Read", Some: true, Message: md})
}

// Fields returns the fields to visit. Some visits the first text, or another value if there is no
// text, and the last part.
func (w walk) Fields() []protoreflect.FieldDescriptor {
	if !w.Some {
		return fieldsOf(w.Message)
	}
	var text, value, part protoreflect.FieldDescriptor
	for _, fd := range fieldsOf(w.Message) {
		switch {
		case shapeOf(fd) != single:
		case isMessage(fd):
			if lastValue(fd.Message()) != nil {
				part = fd
			}
		case text == nil && fd.Kind() == protoreflect.StringKind:
			text = fd
		case value == nil:
			value = fd
		}
	}
	return slices.DeleteFunc([]protoreflect.FieldDescriptor{cmp.Or(text, value), part}, func(fd protoreflect.FieldDescriptor) bool { return fd == nil })
}

// lastValue returns the last field that always has a value, nil if there is none.
func lastValue(md protoreflect.MessageDescriptor) (last protoreflect.FieldDescriptor) {
	for _, fd := range fieldsOf(md) {
		if shapeOf(fd) == single && !isMessage(fd) {
			last = fd
		}
	}
	return last
}

// Inner reads the last value of a part.
func (w walk) Inner() (string, error) {
	begin := "{\nv := " + w.X
	if w.Form.Pointers {
		begin = "if v := " + w.X + "; v != nil {"
	}
	if w.Form.name == "hyperpb" {
		begin += "\nf := f.in" + goName(w.Field)
	}
	code, err := w.Visit(lastValue(w.Of.Message()))
	return begin + "\n" + code + "\n}", err
}

// Visit is the code for one field.
func (w walk) Visit(fd protoreflect.FieldDescriptor) (string, error) {
	w.Field, w.Of, w.Plain = fd, fd, "m."+goName(fd)
	return render(w.Form.name+" "+string(shapeOf(fd)), w)
}

// Head is how the function begins.
func (w walk) Head() string {
	name, pointer := w.Verb, w.Form.Type
	if w.Some {
		name, pointer = "Some", "*"+strings.TrimPrefix(w.Form.Type, "*")
	}
	if w.Form.name == "hyperpb" {
		return fmt.Sprintf("func (f *hyper%s) %s(v protoreflect.Message", w.Message.Name(), strings.ToLower(name))
	}
	return fmt.Sprintf("func %s%s%s(v %s%s", w.Form.prefix, name, w.Message.Name(), pointer, w.Message.Name())
}

// Call is the function of a part.
func (w walk) Call() string {
	if w.Form.name == "hyperpb" {
		return "f.in" + goName(w.Field) + "." + strings.ToLower(w.Verb)
	}
	return w.Form.prefix + w.Verb + string(w.Of.Message().Name())
}

// Failed returns the error that was got.
func (w walk) Failed() string {
	if w.Verb == "Read" {
		return "if err != nil { return 0, err }"
	}
	return "if err != nil { return err }"
}

// Open begins the block for an optional value, a list or a map. x is its presence or its length.
func (w walk) Open(x string) (string, error) {
	w.X = x
	if shapeOf(w.Field) == optional {
		return render("optional", w)
	}
	return render("counted", w)
}

// Use is the code that uses the field's value, or an element.
func (w walk) Use(x string) (string, error) {
	plain := w.Plain
	w.X, w.Pointer = x, "&"+plain
	switch shapeOf(w.Field) {
	case optional:
		w.Plain, w.Pointer = deref(w.Field, plain), plain
		if isBytes(w.Field) && w.Verb == "To" {
			w.X = "append([]byte{}, " + x + "...)" // a list with no elements differs from no list
		}
	case repeated:
		w.Plain, w.Pointer = plain+"[i]", "&"+plain+"[i]"
	}
	return render("use", w)
}

// Entry is the code that uses a map's entry.
func (w walk) Entry(k, x string) (string, error) {
	w.Of, w.K, w.X, w.Plain, w.Pointer = w.Field.MapValue(), k, x, "y", "&y"
	return render("entry", w)
}

// Converted is the value in its plain type.
func (w walk) Converted() string { return convert(w.Form.ByteText, w.Of, w.X) }

// convert returns an expression of the plain type for a value of a form.
func convert(byteText bool, fd protoreflect.FieldDescriptor, x string) string {
	switch {
	case isEnum(fd):
		return "plain." + string(fd.Enum().Name()) + "(" + x + ")"
	case byteText && fd.Kind() == protoreflect.StringKind:
		return "string(" + x + ")"
	}
	return x
}

// partOf returns the message type of a field or of its entries, nil if it has none.
func partOf(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	return fd.Message()
}

// inPlain returns a plain type's name for use outside package plain.
func inPlain(fd protoreflect.FieldDescriptor) string {
	if isMessage(fd) || isEnum(fd) {
		return "plain." + plainElem(fd)
	}
	return plainElem(fd)
}

// readScalar returns an expression that reads a value, other than a message, as uint64.
func readScalar(fd protoreflect.FieldDescriptor, value string) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "bit(" + value + ")"
	case protoreflect.FloatKind:
		return "uint64(math.Float32bits(" + value + "))"
	case protoreflect.DoubleKind:
		return "math.Float64bits(" + value + ")"
	case protoreflect.StringKind, protoreflect.BytesKind:
		return "Text(" + value + ")"
	}
	return "uint64(" + value + ")"
}

// address returns an expression for the address of a value, and p for *p.
func address(value string) string { return strings.TrimPrefix("&"+value, "&*") }

// same returns an expression that compares two plain values.
func same(fd protoreflect.FieldDescriptor, a, b string) string {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return fmt.Sprintf("same%s(%s, %s)", fd.Message().Name(), address(a), address(b))
	case protoreflect.FloatKind:
		return fmt.Sprintf("sameFloat(%s, %s)", a, b)
	case protoreflect.DoubleKind:
		return fmt.Sprintf("sameDouble(%s, %s)", a, b)
	case protoreflect.BytesKind:
		return fmt.Sprintf("bytes.Equal(%s, %s)", a, b)
	}
	return fmt.Sprintf("(%s == %s)", a, b)
}
