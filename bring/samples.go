package bring

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Samples are a user's messages, encoded by protobuf as the rewritten message.
type Samples struct {
	Encoded [][]byte
	Drawn   bool // nobody gave any: they are drawn
	Dropped int  // samples that had fields which the message does not have
	First   string
	places  []string // where each of a Go struct's comes from; nil for a protobuf message's
}

// ReadSamples reads samples of a message: JSON (one, an array, or one after the other), protobuf's
// text format or its bytes, by the end of the file's name. Each is held against the rewritten
// message.
func ReadSamples(paths []string, original protoreflect.MessageDescriptor, n *Normal) (*Samples, error) {
	s := &Samples{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := s.read(path, data, original, n.Message); err != nil {
			return nil, err
		}
	}
	if len(s.Encoded) == 0 {
		return nil, fmt.Errorf("%s: there is no sample in it", strings.Join(paths, ", "))
	}
	return s, nil
}

func (s *Samples) read(path string, data []byte, original, normal protoreflect.MessageDescriptor) error {
	if IsJSON(path) {
		return s.readJSON(path, data, original, normal)
	}
	switch ext := filepath.Ext(path); ext {
	case ".txt", ".txtpb", ".textproto", ".textpb", ".pbtxt", ".prototext":
		m := dynamicpb.NewMessage(original)
		if err := prototext.Unmarshal(data, m); err != nil {
			return fmt.Errorf("%s does not fit %s: %w", path, original.FullName(), err)
		}
		return s.add(path, m, normal)
	case ".binpb", ".pb", ".bin":
		m := dynamicpb.NewMessage(original)
		if err := proto.Unmarshal(data, m); err != nil {
			return fmt.Errorf("%s does not fit %s: %w", path, original.FullName(), err)
		}
		if hasUnknown(m) {
			s.drop(path)
			if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
				return err
			}
		}
		return s.add(path, m, normal)
	default:
		return fmt.Errorf("%s: a sample's file ends in .json, .ndjson, .txtpb (protobuf's text format) or .binpb (its bytes), not in %q", path, ext)
	}
}

func (s *Samples) drop(where string) {
	if s.Dropped++; s.First == "" {
		s.First = where
	}
}

func (s *Samples) readJSON(path string, data []byte, original, normal protoreflect.MessageDescriptor) error {
	return eachJSON(path, data, func(where string, raw []byte) error {
		m := dynamicpb.NewMessage(original)
		if err := protojson.Unmarshal(raw, m); err != nil {
			lax := dynamicpb.NewMessage(original)
			if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, lax) != nil {
				return fmt.Errorf("%s: the sample does not fit %s: %w", where, original.FullName(), err)
			}
			m = lax
			s.drop(where)
		}
		return s.add(where, m, normal)
	})
}

// eachJSON calls f for each value of a file: the elements of an array, or what comes one after the
// other.
func eachJSON(path string, data []byte, f func(where string, raw []byte) error) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	array := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
	if array {
		if _, err := decoder.Token(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return fmt.Errorf("%s:%d: %w", path, lineOf(data, decoder.InputOffset()), err)
		}
		where := fmt.Sprintf("%s:%d", path, lineOf(data, decoder.InputOffset()-int64(len(raw))))
		if err := f(where, raw); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: %w", path, lineOf(data, decoder.InputOffset()), err)
	}
	return nil
}

func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// add takes in a sample that was read as the original message, once the rewritten one is seen to
// say the same: what the one encodes the other decodes, with nothing left over, and back.
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
	if hasUnknown(other) {
		return fail(errors.New("it does not know all of the sample's fields"))
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
		return fail(errors.New("it is another message when it comes back"))
	}
	s.Encoded = append(s.Encoded, again)
	return nil
}

// hasUnknown says whether a message, or one within it, has fields that its descriptor does not
// know.
func hasUnknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				found = found || hasUnknown(v.Message())
				return !found
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		case !fd.IsMap() && fd.Message() != nil:
			found = hasUnknown(v.Message())
		}
		return !found
	})
	return found
}

// File is the samples as they are kept beside the program: each after its length, as protobuf
// delimits them.
func (s *Samples) File() []byte {
	if s.places != nil {
		return s.placed()
	}
	var file []byte
	for _, data := range s.Encoded {
		file = protowire.AppendBytes(file, data)
	}
	return file
}

// Digest tells one file of samples from another.
func Digest(file []byte) string { return fmt.Sprintf("%x", sha256.Sum256(file)) }

// Sizes are the samples' lengths in bytes, smallest first.
func (s *Samples) Sizes() []int {
	var sizes []int
	for _, data := range s.Encoded {
		sizes = append(sizes, len(data))
	}
	slices.Sort(sizes)
	return sizes
}

func (s *Samples) String() string {
	sizes := s.Sizes()
	text := fmt.Sprintf("%d samples, %s to %s (median %s)", len(sizes), size(sizes[0]), size(sizes[len(sizes)-1]), size(sizes[len(sizes)/2]))
	if len(sizes) == 1 {
		text = fmt.Sprintf("1 sample, %s", size(sizes[0]))
	}
	if s.Drawn {
		text = "no sample given: " + text + ", drawn by the schema alone"
	}
	switch {
	case s.Dropped == 1:
		text += fmt.Sprintf("; %s: unknown fields dropped", s.First)
	case s.Dropped > 1:
		text += fmt.Sprintf("; unknown fields dropped in %d, the first at %s", s.Dropped, s.First)
	}
	return text
}

// size is a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/1024)
	}
	return fmt.Sprintf("%d B", n)
}
