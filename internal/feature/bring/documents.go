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

// A Part is a path into JSON documents: keys with dots between them, * for every member. The values
// at that path are brought instead of the documents. Each element of a list, at the end of the path
// or on the way, is a value of its own. "" is the whole document.
type Part string

// each calls f for each value at the path within a JSON value, with the value's offset.
func (p Part) each(raw []byte, f func(offset int, raw []byte) error) error {
	if p == "" {
		return f(0, raw)
	}
	path := strings.FieldsFunc(strings.ReplaceAll(string(p), "[]", ""), func(r rune) bool { return r == '.' })
	return eachAt(raw, path, f)
}

func eachAt(raw []byte, path []string, f func(offset int, raw []byte) error) error {
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
		rest, found := path, isList
		if !isList {
			key, err := decoder.Token()
			if err != nil {
				return err
			}
			rest, found = cutKey(path, key.(string))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		at := int(decoder.InputOffset()) - len(value)
		if !found {
			continue
		}
		if err := eachAt(value, rest, func(offset int, raw []byte) error { return f(at+offset, raw) }); err != nil {
			return err
		}
	}
	return nil
}

// cutKey removes a key from the beginning of a path. The key may have dots itself.
func cutKey(path []string, key string) (rest []string, found bool) {
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

// eachJSON calls f for each JSON value of a file, or for each element if the value is a list. With a
// part, it calls f for the values at that path. It holds one value in memory at a time.
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
			return fmt.Errorf("%s:%d: the file ends within a value: is it cut off?", path, lines.lineAt(lines.read))
		case errors.As(err, &syntax):
			return fmt.Errorf("%s:%d: %w", path, lines.lineAt(syntax.Offset), err)
		}
		return fmt.Errorf("%s:%d: %w", path, lines.lineAt(decoder.InputOffset()), err)
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
		first := lines.lineAt(decoder.InputOffset() - int64(len(raw)))
		err := part.each(raw, func(offset int, value []byte) error { return f(first+lineOf(raw, int64(offset))-1, value) })
		if err != nil {
			return err
		}
	}
}

// next returns the decoder's next byte, 0 at the end.
func next(decoder *json.Decoder) byte {
	var b [1]byte
	_, _ = decoder.Buffered().Read(b[:])
	return b[0]
}

// A lineReader finds the lines of offsets in what was read.
type lineReader struct {
	in     io.Reader
	read   int64
	line   int     // what lineAt last returned, from 1
	breaks []int64 // offsets of later line ends
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

// lineAt returns the line of an offset. Offsets must not decrease from call to call.
func (l *lineReader) lineAt(offset int64) int {
	n, _ := slices.BinarySearch(l.breaks, offset)
	l.line, l.breaks = l.line+n, l.breaks[n:]
	return l.line
}

func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
