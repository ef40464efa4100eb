package check

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	pgv "github.com/envoyproxy/protoc-gen-validate/validate"
	"github.com/go-playground/validator/v10"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// tagged is go-playground/validator, which walks structs by reflection. Its rules are usually tags
// of the struct; these are registered, because the struct is generated.
func tagged[V any, P message[V]]() library[V] {
	l := library[V]{name: "lib=validator", module: "github.com/go-playground/validator/v10"}
	l.open = func() (checker[V], error) {
		t := tagger{validate: validator.New(validator.WithRequiredStructEnabled())}
		if err := t.message(P(new(V))); err != nil {
			return checker[V]{}, err
		}
		return checker[V]{
			check: func(m *V) error { return t.validate.Struct(m) },
			field: func(err error) string {
				if e := errorAs[validator.ValidationErrors](err); len(e) == 1 {
					_, path, _ := strings.Cut(e[0].StructNamespace(), ".")
					return path
				}
				return ""
			},
		}, nil
	}
	return l
}

// A tagger turns rules into the validator's tags.
type tagger struct {
	validate *validator.Validate
	patterns int
}

// message registers the rules of a message and of its parts.
func (t *tagger) message(m proto.Message) error {
	tags := map[string]string{}
	typ, fields := reflect.TypeOf(m).Elem(), m.ProtoReflect().Descriptor().Fields()
	for i := range typ.NumField() {
		_, name, found := strings.Cut(typ.Field(i).Tag.Get("protobuf"), "name=")
		if !found {
			continue
		}
		name, _, _ = strings.Cut(name, ",")
		fd := fields.ByName(protoreflect.Name(name))
		words, err := t.words(fd, proto.GetExtension(fd.Options(), pgv.E_Rules).(*pgv.FieldRules).ProtoReflect())
		if err != nil {
			return err
		}
		if fd.HasOptionalKeyword() && len(words) > 0 {
			words = append([]string{"omitnil"}, words...)
		}
		if fd.Message() != nil && !fd.IsMap() {
			part := m.ProtoReflect().NewField(fd)
			if fd.IsList() {
				words, part = append(words, "dive"), part.List().NewElement()
			}
			if err := t.message(part.Message().Interface()); err != nil {
				return err
			}
		}
		if len(words) > 0 {
			tags[typ.Field(i).Name] = strings.Join(words, ",")
		}
	}
	t.validate.RegisterStructValidationMapRules(tags, m)
	return nil
}

// sameWords are the rules for which the validator has a word, by the name in protoc-gen-validate.
var sameWords = map[protoreflect.Name]string{
	"gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte", "len": "len", "prefix": "startswith",
	"min_len": "min", "max_len": "max", "min_items": "min", "max_items": "max", "max_pairs": "max",
}

// before and after stand around the words for the parts of a list or map.
var (
	before = map[protoreflect.Name][]string{"items": {"dive"}, "keys": {"dive", "keys"}}
	after  = map[protoreflect.Name][]string{"keys": {"endkeys"}}
)

// words returns a field's rules as words of a tag.
func (t *tagger) words(fd protoreflect.FieldDescriptor, rules protoreflect.Message) ([]string, error) {
	var words []string
	all := rules.Descriptor().Fields()
	for i := range all.Len() {
		rule := all.Get(i)
		if !rules.Has(rule) {
			continue
		}
		value := rules.Get(rule)
		switch name := rule.Name(); {
		case sameWords[name] != "":
			words = append(words, sameWords[name]+"="+fmt.Sprint(value.Interface()))
		case name == "required" || name == "email":
			words = append(words, string(name))
		case name == "in":
			words = append(words, "oneof="+strings.Join(texts(value.List()), " "))
		case name == "pattern":
			words = append(words, t.pattern(value.String()))
		case name == "defined_only":
			words = append(words, fmt.Sprintf("min=0,max=%d", fd.Enum().Values().Len()-1))
		case name == "not_in":
			for _, text := range texts(value.List()) {
				words = append(words, "ne="+text)
			}
		case rule.Message() != nil:
			words = append(words, before[name]...)
			inner, err := t.words(fd, value.Message())
			if err != nil {
				return nil, err
			}
			words = append(append(words, inner...), after[name]...)
		default:
			return nil, fmt.Errorf("the validator has no word for the rule %s", rule.FullName())
		}
	}
	return words, nil
}

func texts(list protoreflect.List) []string {
	all := make([]string, list.Len())
	for i := range all {
		all[i] = list.Get(i).String()
	}
	return all
}

// pattern registers a regular expression, for which the validator has no word, and returns one.
func (t *tagger) pattern(text string) string {
	t.patterns++
	name, matches := fmt.Sprintf("pattern%d", t.patterns), regexp.MustCompile(text).MatchString
	_ = t.validate.RegisterValidation(name, func(f validator.FieldLevel) bool { return matches(f.Field().String()) })
	return name
}
