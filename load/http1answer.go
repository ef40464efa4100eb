package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
)

// An http1Answer reads an HTTP/1.1 answer piece by piece, and looks only for its end.
type http1Answer struct {
	http1Header
	head  bool // it has no body, whatever its header says
	begun bool // some of it has come
	part  http1Part
	left  int64  // octets left of the body, or of a chunk with its line end
	line  []byte // the beginning of a line whose end has not come yet

	closes bool // the header has Connection: close
	coded  bool // it has Transfer-Encoding
	// An earlier header and its meaning. Servers repeat a header until the date changes.
	known       []byte
	knownHeader http1Header
}

// http1Header is the meaning of a header.
type http1Header struct {
	status int
	keep   bool  // the connection may be used again
	length int64 // octets of the body, or untilEnd or chunked
}

// The values of length for a body whose end is not given by Content-Length.
const (
	untilEnd = -1
	chunked  = -2
)

type http1Part int

const (
	statusLine http1Part = iota
	headerLine
	bodyLeft
	bodyUntilEnd
	chunkSize
	chunkLeft
	trailerLine
)

var (
	errAnswer  = errors.New("the answer is not HTTP/1.1")
	errHTTP2   = errors.New("that port speaks HTTP/2: give --proto http2")
	errLengths = errors.New("the answer has two values of content-length")
	errEnded   = errors.New("the server closed the connection")
)

// mostKnown is the longest header that is kept, in bytes.
const mostKnown = 2 << 10

// longestLine is the longest line of a header that is accepted, in bytes.
const longestLine = 1 << 20

func (a *http1Answer) reset(head bool) {
	a.head, a.begun, a.part = head, false, statusLine
	a.line = a.line[:0]
	if cap(a.line) > mostKnown {
		a.line = nil
	}
}

// feed reads data. It returns how many octets belong to the answer, and whether that is complete.
func (a *http1Answer) feed(data []byte) (used int, whole bool, err error) {
	if !a.begun && len(data) > 0 && data[0] == 0 { // a frame's length
		return 0, false, errHTTP2
	}
	a.begun = a.begun || len(data) > 0
	at, header := 0, -1 // where a header that is in one piece began
	for at < len(data) {
		rest := data[at:]
		switch a.part {
		case bodyUntilEnd:
			return len(data), false, nil
		case bodyLeft, chunkLeft:
			n := min(int64(len(rest)), a.left)
			at += int(n)
			if a.left -= n; a.left > 0 || a.part == bodyLeft {
				return at, a.left == 0, nil
			}
			a.part = chunkSize
			continue
		case statusLine:
			if len(a.line) > 0 {
				break
			}
			if len(a.known) > 0 && bytes.HasPrefix(rest, a.known) {
				at += len(a.known)
				a.http1Header = a.knownHeader
				if a.body() {
					return at, true, nil
				}
				continue
			}
			header = at
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			if a.line = append(a.line, rest...); len(a.line) > longestLine {
				err = fmt.Errorf("a line of the answer's header is longer than %d MB", longestLine>>20)
			}
			return len(data), false, err
		}
		at += end + 1
		line := rest[:end]
		if len(a.line) > 0 {
			a.line = append(a.line, line...)
			line = a.line
		}
		whole, err := a.take(bytes.TrimRight(line, "\r"))
		a.line = a.line[:0]
		if err != nil || whole && header < 0 {
			return at, whole, err
		}
		if header >= 0 && a.part != headerLine || whole {
			if at-header <= mostKnown {
				a.known, a.knownHeader = append(a.known[:0], data[header:at]...), a.http1Header
			}
			header = -1
		}
		if whole {
			return at, true, nil
		}
	}
	return at, false, nil
}

// take reads a line, and reports whether the answer ends with it.
func (a *http1Answer) take(line []byte) (whole bool, err error) {
	switch a.part {
	case statusLine:
		if len(line) < 12 || string(line[:7]) != "HTTP/1." {
			return false, errAnswer
		}
		a.http1Header = http1Header{keep: line[7] == '1', length: untilEnd}
		a.closes, a.coded = false, false
		if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
			return false, errAnswer
		}
		a.part = headerLine
	case headerLine:
		if len(line) > 0 {
			return false, a.field(line)
		}
		a.keep = a.keep && !a.closes && a.status != http.StatusSwitchingProtocols
		return a.body(), nil
	case chunkSize:
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil {
			return false, errAnswer
		}
		a.part, a.left = chunkLeft, int64(n)+2 // with its line end
		if n == 0 {
			a.part = trailerLine
		}
	case trailerLine:
		return len(line) == 0, nil
	}
	return false, nil
}

func (a *http1Answer) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case len(name) == 14 && bytes.EqualFold(name, []byte("Content-Length")):
		for text := range bytes.SplitSeq(value, []byte(",")) {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 63)
			switch {
			case err != nil:
				return errAnswer
			case a.coded: // Transfer-Encoding overrides it: RFC 9112 section 6.3
			case a.length >= 0 && a.length != int64(n):
				return errLengths
			default:
				a.length = int64(n)
			}
		}
	case len(name) == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		a.coded, a.length = true, untilEnd
		if last := value[bytes.LastIndexByte(value, ',')+1:]; bytes.EqualFold(bytes.TrimSpace(last), []byte("chunked")) {
			a.length = chunked
		}
	case len(name) == 10 && bytes.EqualFold(name, []byte("Connection")):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			option = bytes.TrimSpace(option)
			a.closes = a.closes || bytes.EqualFold(option, []byte("close"))
			a.keep = a.keep || bytes.EqualFold(option, []byte("keep-alive"))
		}
	}
	return nil
}

// body prepares for the body, and reports whether there is none.
func (a *http1Answer) body() (whole bool) {
	switch {
	case a.status == http.StatusSwitchingProtocols:
		return true
	case a.status >= 100 && a.status < 200:
		a.part = statusLine // of the answer itself
		return false
	case a.head || a.status == http.StatusNoContent || a.status == http.StatusNotModified:
		return true
	case a.length == chunked:
		a.part = chunkSize
	case a.length == untilEnd:
		a.part, a.keep = bodyUntilEnd, false
	default:
		a.part, a.left = bodyLeft, a.length
		return a.length == 0
	}
	return false
}

// end reports whether the end of the connection completes the answer.
func (a *http1Answer) end(err error) (whole bool, _ error) {
	switch {
	case err == io.EOF && a.begun && a.part == bodyUntilEnd: // and not errCut
		return true, nil
	case errors.Is(err, io.EOF) && a.begun:
		return false, io.ErrUnexpectedEOF
	}
	return false, err
}

// connectionEnded reports whether an error is the end of a connection.
func connectionEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
