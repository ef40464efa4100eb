package bring

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A Part is a place of JSON documents, all of which is brought in place of the documents: keys with
// dots between them, * for every member. The elements of a list, at its end or on the way, are
// values each. "" is the whole.
type Part string

// in calls f for each value that a JSON value has at the place, with its offset.
func (p Part) in(raw []byte, f func(offset int, raw []byte) error) error {
	if p == "" {
		return f(0, raw)
	}
	path := strings.FieldsFunc(strings.ReplaceAll(string(p), "[]", ""), func(r rune) bool { return r == '.' })
	return take(raw, path, f)
}

func take(raw []byte, path []string, f func(offset int, raw []byte) error) error {
	isList := raw[0] == '['
	if len(path) == 0 && !isList {
		return f(0, raw)
	}
	if !isList && raw[0] != '{' {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		rest, there := path, isList
		if !isList {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			rest, there = after(path, key.(string))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		at := int(decoder.InputOffset()) - len(value)
		if !there {
			continue
		}
		if err := take(value, rest, func(offset int, raw []byte) error { return f(at+offset, raw) }); err != nil {
			return err
		}
	}
	return nil
}

// after is what is left of a path behind a key, which may have dots itself.
func after(path []string, key string) (rest []string, there bool) {
	if path[0] == "*" {
		return path[1:], true
	}
	for n := range path {
		if strings.Join(path[:n+1], ".") == key {
			return path[n+1:], true
		}
	}
	return nil, false
}

// eachJSON calls f for each value of a file: of what comes one after the other, and of the elements
// of lists there; or for what these have at a place. Of the file, one value is in memory at a time.
func eachJSON(path string, part Part, f func(line int, raw []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" { // a byte order mark
		_, _ = in.Discard(3)
	}
	lines := &lineReader{in: in, line: 1}
	decoder := json.NewDecoder(lines)
	wrong := func(err error) error {
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%s:%d: the file ends within a value: is it cut off?", path, lines.at(lines.read))
		case errors.As(err, &syntax):
			return fmt.Errorf("%s:%d: %w", path, lines.at(syntax.Offset), err)
		}
		return fmt.Errorf("%s:%d: %w", path, lines.at(decoder.InputOffset()), err)
	}
	for inList := false; ; {
		if more := decoder.More(); inList && !more || !inList && next(decoder) == '[' {
			if _, err := decoder.Token(); err != nil { // the list's end, or its beginning
				return wrong(err)
			}
			inList = !inList
			continue
		}
		var raw json.RawMessage
		switch err := decoder.Decode(&raw); {
		case err == io.EOF && !inList:
			return nil
		case err != nil:
			return wrong(err)
		}
		first := lines.at(decoder.InputOffset() - int64(len(raw)))
		err := part.in(raw, func(offset int, value []byte) error { return f(first+lineOf(raw, int64(offset))-1, value) })
		if err != nil {
			return err
		}
	}
}

// next is the byte that a decoder has seen to come, 0 for none.
func next(decoder *json.Decoder) byte {
	var b [1]byte
	_, _ = decoder.Buffered().Read(b[:])
	return b[0]
}

// A lineReader knows the lines of what was read.
type lineReader struct {
	in     io.Reader
	read   int64
	line   int     // of what was last asked for, from 1
	breaks []int64 // where lines end after that
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.breaks = append(l.breaks, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// at is the line of an offset that is not before the last one.
func (l *lineReader) at(offset int64) int {
	n, _ := slices.BinarySearch(l.breaks, offset)
	l.line, l.breaks = l.line+n, l.breaks[n:]
	return l.line
}

func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
