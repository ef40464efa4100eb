package load

import (
	"bufio"
	"bytes"
	"net"
	"testing"
)

// Whatever a server answers, reading it ends, and without a panic.
func FuzzHTTP1(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
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

// discard is a connection that takes what is written to it.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
