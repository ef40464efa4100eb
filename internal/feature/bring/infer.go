package bring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// IsJSON reports whether a file is JSON, by its extension.
func IsJSON(path string) bool {
	switch filepath.Ext(path) {
	case ".json", ".ndjson", ".jsonl", ".geojson":
		return true
	}
	return false
}

// Infer makes a schema from JSON samples alone. Every field is optional. Numbers are int64 if all
// of them are whole (uint64 if some need it), else double. An object is a map from strings if its
// keys are data and its values have one kind, else a message. Infer keeps as JSON text what no
// schema expresses: values of several types at one place, and a list with null in it. If typed is
// set, strings are times, UUIDs or enums where all of a place's are; else the schema's notes say where
// they could be.
func Infer(path string, part Part, typed bool) (*Schema, error) {
	in := &inferrer{file: path}
	root := new(seen)
	err := eachJSON(path, part, func(line int, raw []byte) error {
		in.raw, in.first, in.decoder = raw, line, json.NewDecoder(bytes.NewReader(raw))
		in.decoder.UseNumber()
		if raw[0] != '{' {
			return fmt.Errorf("%s:%d: a sample must be an object, not %s", path, line, kindOf(raw))
		}
		return in.value(root, "")
	})
	if err != nil {
		return nil, err
	}
	if root.objects == 0 {
		_, err := new(Samples).done([]string{path}, part)
		return nil, err
	}
	name := pascal(identifier(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + "_" + string(part)))
	return shaped(root, filepath.Base(path), name, typed)
}

// kindOf names a JSON value's kind in words.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// seen describes the values at one place of the samples.
type seen struct {
	kinds   []kindSeen // in order of appearance, without null
	null    int        // the line of the first null, 0 if there was none
	element *seen      // elements of the lists
	fields  map[string]*seen
	order   []string // of the fields' appearance
	objects int      // number of objects
	keys    int      // number of their keys

	numbers numbersSeen
	strings stringsSeen
}

// numbersSeen says which types the numbers of a place need.
type numbersSeen struct {
	negative, large, fraction bool // under zero, over int64, not whole
	wide                      bool // whole, and no double holds it
}

// stringsSeen says which types the strings of a place may have.
type stringsSeen struct {
	count int
	plain map[string]bool // the types that some are not of
	words []string        // the different strings, up to one more than mostWords
}

// mostWords is how many different strings an enum has at most.
const mostWords = 16

// stringTypes say which strings have a type of their own, whose text they are exactly.
var stringTypes = map[string]func(text string) bool{
	"time": func(text string) bool {
		t, err := time.Parse(time.RFC3339Nano, text)
		return err == nil && t.UTC().Format(time.RFC3339Nano) == text
	},
	"uuid": regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString,
	"enum": isIdentifier.MatchString,
}

// note notes a string.
func (s *stringsSeen) note(text string) {
	s.count++
	for name, is := range stringTypes {
		if !s.plain[name] && !is(text) {
			s.not(name)
		}
	}
	s.word(text)
}

func (s *stringsSeen) word(text string) {
	if len(s.words) <= mostWords && !slices.Contains(s.words, text) {
		s.words = append(s.words, text)
	}
}

func (s *stringsSeen) not(name string) {
	if s.plain == nil {
		s.plain = map[string]bool{}
	}
	s.plain[name] = true
}

// merge adds the strings of another place.
func (s *stringsSeen) merge(o *stringsSeen) {
	s.count += o.count
	for name := range o.plain {
		s.not(name)
	}
	for _, text := range o.words {
		s.word(text)
	}
}

// typed is the type that all strings have, "string" if they have none. An enum has few words, each
// of them often.
func (s *stringsSeen) typed() string {
	for _, name := range []string{"time", "uuid"} {
		if !s.plain[name] {
			return name
		}
	}
	words := map[string]bool{} // protobuf's names of an enum differ by more than their case
	for _, text := range s.words {
		words[strings.ToLower(strings.ReplaceAll(text, "_", ""))] = true
	}
	if !s.plain["enum"] && len(words) == len(s.words) && len(words) <= mostWords && s.count >= 4*len(words) {
		return "enum"
	}
	return "string"
}

type kindSeen struct {
	kind string // as kindOf says
	line int
}

// note records a kind and the line of its first value. It calls line, which is slow, for a new kind
// only.
func (s *seen) note(kind string, line func() int) {
	for _, k := range s.kinds {
		if k.kind == kind {
			return
		}
	}
	s.kinds = append(s.kinds, kindSeen{kind, line()})
}

func (s *seen) is(kind string) bool { return len(s.kinds) == 1 && s.kinds[0].kind == kind }

// merge adds the values of another place.
func (s *seen) merge(o *seen) {
	for _, k := range o.kinds {
		s.note(k.kind, func() int { return k.line })
	}
	if s.null == 0 {
		s.null = o.null
	}
	s.numbers.merge(o.numbers)
	s.strings.merge(&o.strings)
	s.objects += o.objects
	s.keys += o.keys
	if o.element != nil {
		if s.element == nil {
			s.element = new(seen)
		}
		s.element.merge(o.element)
	}
	for _, key := range o.order {
		s.field(key).merge(o.fields[key])
	}
}

func (s *seen) field(key string) *seen {
	field := s.fields[key]
	if field == nil {
		if s.fields == nil {
			s.fields = map[string]*seen{}
		}
		field = new(seen)
		s.fields[key], s.order = field, append(s.order, key)
	}
	return field
}

type inferrer struct {
	file    string
	raw     []byte // the sample
	first   int    // its first line
	decoder *json.Decoder
}

func (in *inferrer) line() int { return in.first + lineOf(in.raw, in.decoder.InputOffset()) - 1 }

// deepest is how deep objects and lists may nest.
const deepest = 200

// value reads the next value of the sample.
func (in *inferrer) value(at *seen, path string) error {
	token, err := in.decoder.Token()
	if err != nil {
		return fmt.Errorf("%s:%d: %s: %w", in.file, in.line(), path, err)
	}
	switch token := token.(type) {
	case nil:
		if at.null == 0 {
			at.null = in.line()
		}
		return nil
	case bool:
		at.note("a boolean", in.line)
		return nil
	case string:
		at.note("a string", in.line)
		at.strings.note(token)
		return nil
	case json.Number:
		at.note("a number", in.line)
		at.numbers.note(token.String())
		return nil
	}
	if strings.Count(path, ".")+strings.Count(path, "[") > deepest {
		return fmt.Errorf("%s:%d: objects and lists are more than %d deep", in.file, in.line(), deepest)
	}
	if token == json.Delim('[') {
		at.note("a list", in.line)
		if at.element == nil {
			at.element = new(seen)
		}
		for in.decoder.More() {
			if err := in.value(at.element, path+"[]"); err != nil {
				return err
			}
		}
	} else {
		at.note("an object", in.line)
		at.objects++
		for in.decoder.More() {
			key, err := in.decoder.Token()
			if err != nil {
				return fmt.Errorf("%s:%d: %s: %w", in.file, in.line(), path, err)
			}
			at.keys++
			if err := in.value(at.field(key.(string)), path+"."+key.(string)); err != nil {
				return err
			}
		}
	}
	_, err = in.decoder.Token()
	return err
}

// merge adds the numbers of another place.
func (s *numbersSeen) merge(o numbersSeen) {
	s.negative = s.negative || o.negative
	s.large = s.large || o.large
	s.fraction = s.fraction || o.fraction
	s.wide = s.wide || o.wide
}

// note records which type a number needs.
func (s *numbersSeen) note(text string) {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		s.negative = s.negative || text[0] == '-'
	} else if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		s.large = true
	} else {
		s.fraction = true
	}
	if double, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, ".eE") {
		s.wide = s.wide || strconv.FormatFloat(double, 'f', -1, 64) != text
	}
}

var isIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// manyKeys is how many keys an object needs at least to be a map because of its values.
const manyKeys = 16

// mapValue merges an object's values if its keys are data, else it returns nil. Keys are data if
// some are no identifiers, if new ones keep appearing, or if many hold objects of the same fields.
func (s *seen) mapValue() *seen {
	data := len(s.order) >= manyKeys && len(s.order)*s.objects > 4*s.keys
	all, fields := new(seen), 0
	for _, key := range s.order {
		data = data || !isIdentifier.MatchString(key)
		all.merge(s.fields[key])
		fields += len(s.fields[key].order)
	}
	data = data || len(s.order) >= manyKeys && all.is("an object") && fields >= 2*len(all.order)
	if !data || len(all.kinds) != 1 || all.null != 0 || all.numbers.large && all.numbers.negative {
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
