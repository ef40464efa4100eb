package bring

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"postage/internal/kit/words"
)

// Samples are a user's messages: the rewritten message in protobuf's wire format, or a Go struct in
// JSON. Beyond mostSamples or mostBytes, a random draw decides which samples are kept.
type Samples struct {
	kept   []sample
	count  int    // samples read
	bytes  int    // size of the kept samples
	json   *shape // the schema's, if Infer made it
	placed bool   // they are a Go struct's, and File writes their places

	lossy []loss
}

// A loss is what is dropped of samples.
type loss struct {
	what    string
	samples int
	first   string // place of the first such sample, and path in it
}

const unknownFields = "unknown fields are dropped"

// drops are what decoders of JSON drop without a word, as jsontext finds it if it allows the rest.
var drops = []struct {
	what  string
	allow jsontext.Options
}{
	{"a key is twice in an object, and the last value counts", jsontext.AllowInvalidUTF8(true)},
	{"text is not UTF-8, and U+FFFD takes the place of such bytes: convert the file, as with iconv -f latin1 -t utf-8", jsontext.AllowDuplicateNames(true)},
}

// lose notes what decoding a sample's JSON drops.
func (s *Samples) lose(where string, raw []byte) {
	if jsontext.Value(raw).IsValid() {
		return
	}
	for _, drop := range drops {
		_, err := jsontext.NewDecoder(bytes.NewReader(raw), drop.allow).ReadValue()
		if syntax, lost := errors.AsType[*jsontext.SyntacticError](err); lost {
			s.drop(drop.what, where, cmp.Or(string(syntax.JSONPointer), "/"))
		}
	}
}

// drop notes that something of a sample is dropped, at a path in it.
func (s *Samples) drop(what, where, path string) {
	i := slices.IndexFunc(s.lossy, func(l loss) bool { return l.what == what })
	if i < 0 {
		i, s.lossy = len(s.lossy), append(s.lossy, loss{what: what, first: where + ": " + path})
	}
	s.lossy[i].samples++
}

type sample struct {
	data  []byte
	place string // "file:line", for a Go struct
	index int    // among all samples read
}

const (
	mostSamples = 8 << 10
	mostBytes   = 64 << 20
)

// keep adds a sample.
func (s *Samples) keep(place string, data []byte) {
	s.kept = append(s.kept, sample{data, place, s.count})
	s.count, s.bytes = s.count+1, s.bytes+len(data)
	if len(s.kept) >= 2*mostSamples || s.bytes >= 2*mostBytes && len(s.kept) > 1 {
		s.thin()
	}
}

// thin drops samples beyond the limits. Each sample's index decides its rank in a random order, so
// the result does not depend on when thin is called.
func (s *Samples) thin() {
	if len(s.kept) <= mostSamples && s.bytes <= mostBytes {
		return
	}
	drawn := func(a sample) uint64 { return rand.NewPCG(uint64(a.index), 0).Uint64() }
	slices.SortFunc(s.kept, func(a, b sample) int { return cmp.Compare(drawn(a), drawn(b)) })
	fit := 0
	for s.bytes = 0; fit < min(len(s.kept), mostSamples) && (fit == 0 || s.bytes+len(s.kept[fit].data) <= mostBytes); fit++ {
		s.bytes += len(s.kept[fit].data)
	}
	clear(s.kept[fit:])
	s.kept = s.kept[:fit]
	slices.SortFunc(s.kept, func(a, b sample) int { return a.index - b.index })
}

// done finishes reading, and returns an error if there are no samples.
func (s *Samples) done(paths []string, part Part) (*Samples, error) {
	s.thin()
	switch in := strings.Join(paths, ", "); {
	case s.count > 0:
		return s, nil
	case part != "":
		return nil, fmt.Errorf("%s: there is nothing at %s in it", in, part)
	default:
		return nil, fmt.Errorf("%s: there are no samples in it", in)
	}
}

// ReadSamples reads samples of a message: JSON (one value, an array, or one value after the other)
// or a part of it, or protobuf's bytes. The file's extension says which.
// Each is checked against the rewritten message.
func (schema *Schema) ReadSamples(paths []string, part Part, original protoreflect.MessageDescriptor, n *Normal) (*Samples, error) {
	s := &Samples{json: schema.json}
	for _, path := range paths {
		var err error
		switch {
		case IsJSON(path):
			err = s.readJSON(path, part, original, n.Message)
		case part != "":
			err = fmt.Errorf("%s: only a JSON file has parts", path)
		default:
			err = s.read(path, original, n.Message)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.done(paths, part)
}

func (s *Samples) read(path string, original, normal protoreflect.MessageDescriptor) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if ext := filepath.Ext(path); ext != ".binpb" && ext != ".pb" && ext != ".bin" {
		return fmt.Errorf("%s: the name of a samples file must end in .json, .ndjson or .binpb (protobuf's bytes), not in %q", path, ext)
	}
	m := dynamicpb.NewMessage(original)
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("%s does not fit %s: %s", path, original.FullName(), plainSpaces(err))
	}
	if unknown := unknownFieldsOf(m, ""); len(unknown) > 0 {
		s.drop(unknownFields, path, unknown[0])
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
			return err
		}
	}
	return s.add(path, m, normal)
}

func (s *Samples) readJSON(path string, part Part, original, normal protoreflect.MessageDescriptor) error {
	return eachJSON(path, part, func(line int, raw []byte) error {
		where := fmt.Sprintf("%s:%d", path, line)
		s.lose(where, raw)
		m := dynamicpb.NewMessage(original)
		if s.json != nil {
			unknown, err := s.json.sample(m, raw)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if len(unknown) > 0 {
				s.drop(unknownFields, where, unknown[0])
			}
			return s.add(where, m, normal)
		}
		if protojson.Unmarshal(raw, m) != nil {
			unknown := unknownJSON(raw, messageMembers(original))
			m = dynamicpb.NewMessage(original)
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m); err != nil {
				return misfit(path, line, raw, original.FullName(), err)
			}
			if len(unknown) > 0 {
				s.drop(unknownFields, where, unknown[0])
			}
		}
		return s.add(where, m, normal)
	})
}

// add takes in a sample that was read as the original message. The rewritten message must agree: it
// must decode what the original encodes, with nothing left over, and the other way round.
func (s *Samples) add(where string, m *dynamicpb.Message, normal protoreflect.MessageDescriptor) error {
	fail := func(err error) error {
		return fmt.Errorf("%s: the rewritten message does not agree with the original: %w", where, err)
	}
	data, err := (proto.MarshalOptions{Deterministic: true, AllowPartial: true}).Marshal(m)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	other := dynamicpb.NewMessage(normal)
	if err := proto.Unmarshal(data, other); err != nil {
		return fail(err)
	}
	if unknown := unknownFieldsOf(other, ""); len(unknown) > 0 {
		return fail(fmt.Errorf("it does not know %s", unknown[0]))
	}
	again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(other)
	if err != nil {
		return fail(err)
	}
	reread := dynamicpb.NewMessage(m.Descriptor())
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(again, reread); err != nil {
		return fail(err)
	}
	if !proto.Equal(m, reread) {
		return fail(errors.New("it is a different message when it comes back"))
	}
	s.keep("", again)
	return nil
}

// File returns the content of the program's samples file. Each sample follows its length, as is
// usual for protobuf. A Go struct's place comes before that, with a length of its own.
func (s *Samples) File() []byte {
	var file []byte
	for _, kept := range s.kept {
		if s.placed {
			file = protowire.AppendString(file, kept.place)
		}
		file = protowire.AppendBytes(file, kept.data)
	}
	return file
}

// largest returns the size of the largest sample, in bytes.
func (s *Samples) largest() (n int) {
	for _, kept := range s.kept {
		n = max(n, len(kept.data))
	}
	return n
}

func (s *Samples) String() string {
	var sizes []int
	for _, kept := range s.kept {
		sizes = append(sizes, len(kept.data))
	}
	slices.Sort(sizes)
	text := words.Counted(s.count, "sample")
	if len(sizes) < s.count {
		text += fmt.Sprintf(", %d of them kept, drawn at random", len(sizes))
	}
	text += fmt.Sprintf(": %s to %s (median %s)", size(sizes[0]), size(sizes[len(sizes)-1]), size(sizes[len(sizes)/2]))
	for _, lost := range s.lossy {
		text += fmt.Sprintf("; in %s, the first at %s, %s", words.Counted(lost.samples, "sample"), lost.first, lost.what)
	}
	return text
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
