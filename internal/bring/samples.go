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
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Samples are a user's messages, encoded in protobuf's wire format as the rewritten message.
type Samples struct {
	Encoded [][]byte
	Drawn   bool     // none were given: they are drawn
	json    *shape   // that the schema was made of
	places  []string // the place of each sample of a Go struct; nil for a protobuf message

	dropped        int    // fields that the message does not have
	lacking        int    // samples that had such fields
	first, unknown string // where the first of these samples is, and the first such field's path in it
}

// ReadSamples reads samples of a message: JSON (one value, an array, or one value after the other),
// protobuf's text format, or protobuf's bytes. The file's extension says which. Each is checked
// against the rewritten message.
func (schema *Schema) ReadSamples(paths []string, original protoreflect.MessageDescriptor, n *Normal) (*Samples, error) {
	s := &Samples{json: schema.json}
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
		return nil, fmt.Errorf("%s: there are no samples in it", strings.Join(paths, ", "))
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
			if name := extensionName.FindString(err.Error()); name != "" {
				return refuseExtension(path, name, original.FullName())
			}
			return misfit(path, 1, data, original.FullName(), err)
		}
		return s.add(path, m, normal)
	case ".binpb", ".pb", ".bin":
		m := dynamicpb.NewMessage(original)
		if err := proto.Unmarshal(data, m); err != nil {
			return fmt.Errorf("%s does not fit %s: %s", path, original.FullName(), plainSpaces(err))
		}
		var unknown []string
		var refused error
		eachUnknown(m, "", func(at string, md protoreflect.MessageDescriptor, number protowire.Number) {
			if refused == nil && md.ExtensionRanges().Has(number) {
				refused = refuseExtension(path, at, md.FullName())
			}
			unknown = append(unknown, at)
		})
		if refused != nil {
			return refused
		}
		if len(unknown) > 0 {
			s.drop(path, unknown)
			if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
				return err
			}
		}
		return s.add(path, m, normal)
	default:
		return fmt.Errorf("%s: the name of a samples file must end in .json, .ndjson, .txtpb (protobuf's text format) or .binpb (its bytes), not in %q", path, ext)
	}
}

// extensionName is how protobuf's errors end that do not know an extension in its text format.
var extensionName = regexp.MustCompile(`\[[\w.]+\]$`)

func (s *Samples) drop(where string, unknown []string) {
	s.dropped += len(unknown)
	if s.lacking++; s.lacking == 1 {
		s.first, s.unknown = where, unknown[0]
	}
}

func (s *Samples) readJSON(path string, data []byte, original, normal protoreflect.MessageDescriptor) error {
	return eachJSON(path, data, func(line int, raw []byte) error {
		where := fmt.Sprintf("%s:%d", path, line)
		m := dynamicpb.NewMessage(original)
		if s.json != nil {
			unknown, err := s.json.sample(m, raw)
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if len(unknown) > 0 {
				s.drop(where, unknown)
			}
			return s.add(where, m, normal)
		}
		if protojson.Unmarshal(raw, m) != nil {
			unknown, offset := unknownJSON(raw, messageMembers(original))
			for _, at := range unknown {
				if strings.HasSuffix(at, "]") { // an element's path has no key at its end
					return refuseExtension(fmt.Sprintf("%s:%d", path, line+lineOf(raw, offset)-1), at, original.FullName())
				}
			}
			m = dynamicpb.NewMessage(original)
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m); err != nil {
				return misfit(path, line, raw, original.FullName(), err)
			}
			if len(unknown) > 0 {
				s.drop(where, unknown)
			}
		}
		return s.add(where, m, normal)
	})
}

// eachJSON calls f for each value of a file: of what comes one after the other, and of the elements
// of lists there.
func eachJSON(path string, data []byte, f func(line int, raw []byte) error) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark
	decoder := json.NewDecoder(bytes.NewReader(data))
	at, line := 0, 1 // lines are counted up to here
	lineAt := func(offset int64) int {
		line += bytes.Count(data[at:offset], []byte("\n"))
		at = int(offset)
		return line
	}
	wrong := func(err error) error {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s:%d: the file ends within a value: is it cut off?", path, lineOf(data, int64(len(data))))
		case errors.As(err, &syntax):
			return fmt.Errorf("%s:%d: %w", path, lineOf(data, syntax.Offset), err)
		}
		return fmt.Errorf("%s:%d: %w", path, lineOf(data, decoder.InputOffset()), err)
	}
	for inList := false; ; {
		switch {
		case inList && !decoder.More():
			if _, err := decoder.Token(); err != nil {
				return wrong(err)
			}
			inList = false
			continue
		case !inList && bytes.HasPrefix(bytes.TrimLeft(data[decoder.InputOffset():], " \t\r\n"), []byte("[")):
			if _, err := decoder.Token(); err != nil {
				return wrong(err)
			}
			inList = true
			continue
		case !inList && len(bytes.TrimSpace(data[decoder.InputOffset():])) == 0:
			return nil
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return wrong(err)
		}
		if err := f(lineAt(decoder.InputOffset()-int64(len(raw))), raw); err != nil {
			return err
		}
	}
}

func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
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
	eachUnknown(other, "", func(at string, _ protoreflect.MessageDescriptor, _ protowire.Number) {
		err = fmt.Errorf("it does not know %s", at)
	})
	if err != nil {
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
	s.Encoded = append(s.Encoded, again)
	return nil
}

// File returns the content of the file that is kept beside the program: each sample after its
// length, protobuf's usual delimiter.
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

// Digest identifies a file of samples.
func Digest(file []byte) string { return fmt.Sprintf("%x", sha256.Sum256(file)) }

// Sizes returns the samples' lengths in bytes, smallest first.
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
		text = "no sample given: " + text + ", drawn from the schema alone"
	}
	fields := "1 unknown field"
	if s.dropped > 1 {
		fields = fmt.Sprintf("%d unknown fields", s.dropped)
	}
	switch {
	case s.lacking == 1:
		text += fmt.Sprintf("; %s: %s dropped (%s)", s.first, fields, s.unknown)
	case s.lacking > 1:
		text += fmt.Sprintf("; %s dropped in %d samples, the first at %s (%s)", fields, s.lacking, s.first, s.unknown)
	}
	return text
}

// size formats a number of bytes for people.
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
