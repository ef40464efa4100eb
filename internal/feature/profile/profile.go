// Package profile says where a service spends its CPU time on messages, and what a change would
// save:
//
//  1. [Read] takes profiles in pprof's format, within bounds: they are untrusted input.
//  2. [Owners] is a table of libraries. Each sample belongs to the nearest caller that is not a
//     helper, such as runtime or strings. That is a library of the table, another library, or the
//     user's own code, also where a library calls it back. A sample without such a caller is the
//     runtime's, the collector's, or not attributed.
//  3. [Summarize] adds the samples up. Collections are shared out by bytes allocated, where a
//     profile of allocations says who allocates.
//  4. [Summary.Predict] multiplies shares by measured ratios.
//
// It starts no process and opens no connection.
package profile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// The most that a profile may have: bytes, before and after decompression, and bytes in memory.
const (
	mostBytes  = 512 << 20
	mostMemory = 2 << 30
)

// Kind is what a profile counts.
type Kind int

const (
	CPU Kind = iota
	Allocations
)

// A Source is one profile.
type Source struct {
	Name  string
	Kind  Kind
	value int     // index of the CPU time or of the bytes
	count int     // index of the samples, -1 if they are not counted
	unit  float64 // of a value, in ns
	timed bool    // values are time: perf may count cycles
	pprof *profile.Profile
}

// Read reads a profile, which may be compressed by gzip, or by zstd as Datadog does. Errors begin
// with the name.
func Read(name string, r io.Reader) (*Source, error) {
	text, err := readBounded(r)
	if err == nil {
		err = bounded(text)
	}
	var p *profile.Profile
	if err == nil {
		p, err = parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Source{Name: name, pprof: p, count: -1}
	return s, cmp.Or(s.kind(), s.ofGo())
}

// ofGo returns an error if functions have names, but none is in a Go file or in Go's runtime.
func (s *Source) ofGo() error {
	named := ""
	for _, f := range s.pprof.Function {
		if strings.HasSuffix(f.Filename, ".go") || strings.HasPrefix(f.Name, "runtime.") {
			return nil
		}
		named = cmp.Or(named, f.Name)
	}
	if named == "" {
		return nil
	}
	return fmt.Errorf("%s: not of a Go program, or without its symbols: none of its functions is of a Go file or of Go's runtime; one is %q", s.Name, named)
}

func parse(text []byte) (*profile.Profile, error) {
	p, err := profile.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("not a profile in pprof's format: %w", err)
	}
	return p, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	var packed io.Reader
	switch {
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}):
		packed, err = gzip.NewReader(bytes.NewReader(text))
	case bytes.HasPrefix(text, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		packed, err = zstd.NewReader(bytes.NewReader(text), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	}
	if err == nil && packed != nil {
		text, err = io.ReadAll(io.LimitReader(packed, mostBytes+1))
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it is cut short")
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, errors.New("it is empty")
	case bytes.HasPrefix(text, []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00")):
		return nil, errors.New("a CPU profile in gperftools' binary format, without names: go tool pprof -proto PROGRAM FILE > new.pprof")
	case len(text) > mostBytes:
		return nil, fmt.Errorf("more than %d MB", mostBytes>>20)
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if line = line[:min(60, len(line))]; strings.IndexFunc(string(line), func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' && r != utf8.RuneError }) < 0 {
		return nil, fmt.Errorf("text, not a profile in pprof's format: it begins %q", line)
	}
	return text, nil
}

// elements has a profile's repeated fields by number, and about how many bytes an element takes in
// memory. Source: github.com/google/pprof, proto/profile.proto.
var elements = map[protowire.Number]int{1: 48, 2: 200, 3: 160, 4: 120, 5: 112, 6: 24}

// bounded returns an error if a profile would take too much memory: two bytes can make an element.
func bounded(text []byte) error {
	memory := len(text)
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return errors.New("not a profile in pprof's format")
		}
		size := protowire.ConsumeFieldValue(number, kind, text[n:])
		if size < 0 {
			return errors.New("not a profile in pprof's format, or cut short")
		}
		if kind == protowire.BytesType {
			memory += elements[number]
			if number == 2 || number == 4 { // a sample has numbers, a location has lines
				for _, b := range text[n : n+size] {
					if b < 0x80 { // a number's last byte
						memory += 24
					}
				}
			}
		}
		if memory > mostMemory {
			return fmt.Errorf("it would take more than %d MB of memory", mostMemory>>20)
		}
		text = text[n+size:]
	}
	return nil
}

// kind finds what the profile counts. Pyroscope and Parca keep Go's names. Datadog writes cpu-time
// and alloc-space. What converts files of perf writes the event's name with _sample and _event.
func (s *Source) kind() error {
	var types []string
	at, waiting := -1, false
	for i, t := range s.pprof.SampleType {
		name := strings.ReplaceAll(t.Type, "-", "_")
		event, counted := strings.CutSuffix(name, "_event")
		unit := map[string]float64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6}[t.Unit]
		if counted && strings.HasSuffix(event, "_clock") {
			unit = 1
		}
		types = append(types, t.Type)
		switch {
		case name == "alloc_space":
			s.Kind, at = Allocations, i
		case name == "samples" || name == "cpu_samples" || strings.HasSuffix(name, "_sample"):
			s.count = i
		case s.Kind == CPU && (strings.HasPrefix(name, "cpu") && unit > 0 || counted && (unit > 0 || strings.Contains(event, "cycles"))):
			at, s.unit = i, unit
		case unit > 0: // time by the clock on the wall, such as fgprof's
			waiting = true
		}
	}
	if at < 0 && s.count >= 0 && !waiting {
		at, s.unit = s.count, float64(s.pprof.Period)
	}
	if at < 0 {
		return fmt.Errorf("%s: a profile of %s: want one of CPU time or of allocations", s.Name, cmp.Or(strings.Join(types, ", "), "nothing that it names"))
	}
	s.timed, s.unit = s.unit > 0, cmp.Or(s.unit, 1)
	s.value = at
	return nil
}

// Program is the path that the profiled program had, "" if the profile does not say.
func (s *Source) Program() string {
	if len(s.pprof.Mapping) == 0 {
		return ""
	}
	return s.pprof.Mapping[0].File
}

// Labelled leaves the samples with a label: "endpoint=/render". Only profiles of CPU time have any.
func (s *Source) Labelled(label string) error {
	key, value, _ := strings.Cut(label, "=")
	var found []string
	kept := s.pprof.Sample[:0]
	for _, one := range s.pprof.Sample {
		for _, has := range one.Label[key] {
			if !slices.Contains(found, has) {
				found = append(found, has)
			}
		}
		if slices.Contains(one.Label[key], value) {
			kept = append(kept, one)
		}
	}
	s.pprof.Sample = kept
	if len(kept) == 0 {
		return fmt.Errorf("%s: no sample has the label %s: there is %s", s.Name, label, cmp.Or(printable(strings.Join(found[:min(len(found), 8)], ", ")), "none of that name"))
	}
	return nil
}

// samples is how many samples a profile's entry stands for: pprof merges equal ones.
func (s *Source) samples(one *profile.Sample) float64 {
	switch {
	case s.count >= 0:
		return float64(one.Value[s.count])
	case s.Kind == CPU && s.pprof.Period > 0:
		return float64(one.Value[s.value]) / float64(s.pprof.Period)
	}
	return 1
}
