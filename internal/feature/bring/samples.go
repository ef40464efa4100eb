package bring

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	kept    []sample
	count   int    // samples read
	bytes   int    // size of the kept samples
	json    *shape // the schema's, if Infer made it
	placed  bool   // they are a Go struct's, and File writes their places
	unknown int    // samples with fields that are dropped
	first   string // place of the first of these, and path in it
}

// drop notes that a sample has a field that the message does not have.
func (s *Samples) drop(where, path string) {
	if s.unknown == 0 {
		s.first = where + ": " + path
	}
	s.unknown++
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
	m, whole := dynamicpb.NewMessage(original), dynamicpb.NewMessage(original)
	if err := proto.Unmarshal(data, whole); err != nil {
		return fmt.Errorf("%s does not fit %s: %s", path, original.FullName(), plainSpaces(err))
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
		return err
	}
	if n := proto.Size(whole) - proto.Size(m); n > 0 {
		s.drop(path, words.Counted(n, "byte"))
	}
	return s.add(path, m, normal)
}

func (s *Samples) readJSON(path string, part Part, original, normal protoreflect.MessageDescriptor) error {
	return eachJSON(path, part, func(line int, raw []byte) error {
		where := fmt.Sprintf("%s:%d", path, line)
		m := dynamicpb.NewMessage(original)
		if s.json != nil {
			unknown, err := s.json.sample(m, raw)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if len(unknown) > 0 {
				s.drop(where, unknown[0])
			}
			return s.add(where, m, normal)
		}
		if strict := protojson.Unmarshal(raw, m); strict != nil {
			m = dynamicpb.NewMessage(original)
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m); err != nil {
				return misfit(path, line, raw, original.FullName(), err)
			}
			field, _, _ := placeOf(raw, strict)
			s.drop(where, field)
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
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, other); err != nil { // what is discarded does not come back
		return fail(err)
	}
	again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(other)
	if err != nil {
		return fail(err)
	}
	back := dynamicpb.NewMessage(m.Descriptor())
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(again, back); err != nil {
		return fail(err)
	}
	if !proto.Equal(m, back) {
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
		text += fmt.Sprintf(", of which %d are kept, drawn at random", len(sizes))
	}
	text += fmt.Sprintf(": %s to %s (median %s)", size(sizes[0]), size(sizes[len(sizes)-1]), size(sizes[len(sizes)/2]))
	if s.unknown > 0 {
		text += fmt.Sprintf("; in %s, the first at %s, unknown fields are dropped", words.Counted(s.unknown, "sample"), s.first)
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
