package codegen

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A form is how a library holds a message: its functions write the code that gets a field's value.
// What is done with the value is a walk's, and the same for all forms. They call use where it goes,
// and open at the beginning of an optional value, a list or a map.
type form struct {
	head     func(verb string, md protoreflect.MessageDescriptor) string // beginning of a function: "func capnToOrder(v capnmsg.Order"
	call     func(verb string, fd protoreflect.FieldDescriptor) string   // that of a part: "capnToMoney"
	begin    func(c *walk, md protoreflect.MessageDescriptor)            // what a function does first; may be nil
	fails    bool                                                        // values come with an error
	byteText bool                                                        // text comes as bytes

	single   func(c *walk, fd protoreflect.FieldDescriptor, use func(x string))
	optional func(c *walk, fd protoreflect.FieldDescriptor, open func(has string), use func(x string))
	list     func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(x string)) // of element i
	entries  func(c *walk, fd protoreflect.FieldDescriptor, open func(length string), use func(k, x string))
}

// A walk is a function over all fields of a message in a form v: "To" sets the plain struct m,
// "Read" returns a sum, "Match" compares with m.
type walk struct {
	*source
	form *form
	verb string
}

// write writes walks of every message.
func (f *form) write(out *source, md protoreflect.MessageDescriptor, verbs ...string) {
	for _, verb := range verbs {
		c := &walk{out, f, verb}
		plain, result := fmt.Sprintf(", m *plain.%s", md.Name()), map[string]string{"Read": "(sum uint64)", "Match": "bool"}[verb]
		if f.fails {
			result = map[string]string{"To": "error", "Read": "(sum uint64, err error)", "Match": "(bool, error)"}[verb]
		}
		if verb == "Read" {
			plain = ""
		}
		c.f("%s%s) %s {", f.head(verb, md), plain, result)
		if verb == "To" {
			c.f("*m = plain.%s{}", md.Name())
		}
		if f.begin != nil {
			f.begin(c, md)
		}
		for _, fd := range fieldsOf(md) {
			c.field(fd)
		}
		switch {
		case verb == "Read":
			c.f("%s", c.returns("sum", "nil"))
		case verb == "Match":
			c.f("%s", c.returns("true", "nil"))
		case f.fails:
			c.f("return nil")
		}
		c.f("}\n")
	}
}

// returns is a return statement; err is left out of forms that do not fail, and value of To.
func (c *walk) returns(value, err string) string {
	switch {
	case !c.form.fails:
		return "return " + value
	case c.verb == "To":
		return "return " + err
	}
	return "return " + value + ", " + err
}

// failed returns the error that was got.
func (c *walk) failed() string {
	return "if err != nil { " + c.returns(map[string]string{"Read": "0", "Match": "false"}[c.verb], "err") + " }"
}

// absent is what is done with an entry whose message is missing.
func (c *walk) absent() string {
	if c.verb == "Match" {
		return c.returns("false", "nil")
	}
	return "continue"
}

func (c *walk) field(fd protoreflect.FieldDescriptor) {
	at := "m." + goName(fd)
	counted := func(length string) { c.counted(fd, length, at) }
	switch shapeOf(fd) {
	case single:
		c.form.single(c, fd, func(x string) { c.use(fd, fd, x, at, "&"+at) })
	case optional:
		c.form.optional(c, fd, func(has string) { c.present(fd, has, at) }, func(x string) {
			if isBytes(fd) && c.verb == "To" {
				x = "append([]byte{}, " + x + "...)" // a list with no elements differs from no list
			}
			c.use(fd, fd, x, deref(fd, at), at)
			c.f("}")
		})
	case repeated:
		c.form.list(c, fd, counted, func(x string) { c.use(fd, fd, x, at+"[i]", "&"+at+"[i]") })
	case mapped:
		c.form.entries(c, fd, counted, func(k, x string) { c.entry(fd, k, x, at) })
	}
}

// use writes what is done with a value x of a field or of its entries: of a scalar with the plain
// value, of a message with a pointer to it.
func (c *walk) use(field, fd protoreflect.FieldDescriptor, x, plain, pointer string) {
	call := c.form.call(c.verb, field)
	switch {
	case isMessage(fd) && c.verb == "To" && c.form.fails:
		c.f("if err := %s(%s, %s); err != nil { return err }", call, x, pointer)
	case isMessage(fd) && c.verb == "To":
		c.f("%s(%s, %s)", call, x, pointer)
	case isMessage(fd) && c.verb == "Read" && c.form.fails:
		c.f("n, err := %s(%s)\nif err != nil { return 0, err }\nsum += n", call, x)
	case isMessage(fd) && c.verb == "Read":
		c.f("sum += %s(%s)", call, x)
	case isMessage(fd) && c.form.fails:
		c.f("if same, err := %s(%s, %s); !same { return false, err }", call, x, pointer)
	case isMessage(fd):
		c.f("if !%s(%s, %s) { return false }", call, x, pointer)
	case c.verb == "To":
		c.f("%s = %s", plain, c.plain(fd, x))
	case c.verb == "Read":
		c.f("sum += %s", readScalar(fd, x))
	default:
		c.f("if !(%s) { %s }", sameScalar(fd, c.text(fd, x), plain), c.returns("false", "nil"))
	}
}

// present opens the block of an optional value that is present.
func (c *walk) present(fd protoreflect.FieldDescriptor, has, at string) {
	switch {
	case c.verb == "Match":
		c.f("if (%s) != (%s != nil) { %s }\nif %s != nil {", has, at, c.returns("false", "nil"), at)
	case c.verb == "Read":
		c.f("if %s {\nsum++", has)
	case isBytes(fd):
		c.f("if %s {", has)
	default:
		c.f("if %s {\n%s = new(%s)", has, at, inPlain(fd))
	}
}

// counted begins a list or a map with as many elements.
func (c *walk) counted(fd protoreflect.FieldDescriptor, length, at string) {
	switch {
	case c.verb == "Match":
		c.f("if %s != len(%s) { %s }", length, at, c.returns("false", "nil"))
	case c.verb == "Read":
		c.f("sum += uint64(%s)", length)
	case fd.IsMap():
		c.f("%s = make(map[%s]%s, %s)", at, inPlain(fd.MapKey()), inPlain(fd.MapValue()), length)
	default:
		c.f("%s = make([]%s, %s)", at, inPlain(fd), length)
	}
}

func (c *walk) entry(fd protoreflect.FieldDescriptor, k, x, at string) {
	key, elem := c.plain(fd.MapKey(), k), fd.MapValue()
	switch c.verb {
	case "To":
		c.f("var y %s", inPlain(elem))
	case "Read":
		c.f("sum += %s", readScalar(fd.MapKey(), k))
	case "Match":
		c.f("y, ok := %s[%s]\nif !ok { %s }", at, key, c.returns("false", "nil"))
	}
	c.use(fd, elem, x, "y", "&y")
	if c.verb == "To" {
		c.f("%s[%s] = y", at, key)
	}
}

// plain is a value's expression in the plain type.
func (c *walk) plain(fd protoreflect.FieldDescriptor, x string) string {
	if isEnum(fd) {
		return "plain." + string(fd.Enum().Name()) + "(" + x + ")"
	}
	return c.text(fd, x)
}

func (c *walk) text(fd protoreflect.FieldDescriptor, x string) string {
	if c.form.byteText && fd.Kind() == protoreflect.StringKind {
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

// byPrefix are the names of a form's functions: capnToOrder.
func byPrefix(f *form, prefix, param string) *form {
	f.head = func(verb string, md protoreflect.MessageDescriptor) string {
		return fmt.Sprintf("func %s%s%s(v %s%s", prefix, verb, md.Name(), param, md.Name())
	}
	f.call = func(verb string, fd protoreflect.FieldDescriptor) string {
		if part := partOf(fd); part != nil {
			return prefix + verb + string(part.Name())
		}
		return ""
	}
	return f
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

// sameScalar returns an expression that compares two values that are not messages.
func sameScalar(fd protoreflect.FieldDescriptor, a, b string) string {
	switch fd.Kind() {
	case protoreflect.FloatKind:
		return fmt.Sprintf("sameFloat(%s, %s)", a, b)
	case protoreflect.DoubleKind:
		return fmt.Sprintf("sameDouble(%s, %s)", a, b)
	case protoreflect.BytesKind:
		return fmt.Sprintf("bytes.Equal(%s, %s)", a, b)
	case protoreflect.EnumKind:
		return fmt.Sprintf("int32(%s) == int32(%s)", a, b)
	}
	return fmt.Sprintf("%s == %s", a, b)
}
