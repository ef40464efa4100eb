package load

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
)

// Whatever a server answers, reading it ends, and without a panic.
func FuzzHTTP1(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"HTTP/2.0 200\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		h := &http1{conn: discard{}, in: bufio.NewReader(bytes.NewReader(answer))}
		status, _, err := h.roundTrip()
		if err == nil && (status < 0 || status > 999) {
			t.Errorf("status %d", status)
		}
	})
}

// Chunks say how long a body is, whatever else does: RFC 9112 section 6.3.
func TestChunksOverrideLength(t *testing.T) {
	const next = "HTTP/1.1 204 No Content\r\n\r\n"
	for _, fields := range []string{
		"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
	} {
		answers := "HTTP/1.1 200 OK\r\n" + fields + "\r\n2\r\nok\r\n0\r\n\r\n" + next
		h := &http1{conn: discard{}, in: bufio.NewReader(strings.NewReader(answers))}
		for _, want := range []int{200, 204} {
			if status, _, err := h.roundTrip(); err != nil || status != want {
				t.Errorf("%q: status %d, %v, want %d", fields, status, err, want)
			}
		}
	}
}

// discard is a connection that takes what is written to it.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
