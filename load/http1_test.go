package load

import "testing"

// Whatever a server answers, reading ends and does not panic.
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
		var atOnce, bitByBit http1Answer
		used, whole, err := atOnce.feed(answer)
		if whole && (atOnce.status < 0 || atOnce.status > 999) {
			t.Errorf("status %d", atOnce.status)
		}
		// In pieces the answer means the same, and so it does when its header is known.
		at, again, wrong := 0, false, error(nil)
		for at < len(answer) && !again && wrong == nil {
			var n int
			n, again, wrong = bitByBit.feed(answer[at : at+1])
			at += n
		}
		if again != whole || (wrong != nil) != (err != nil) || whole && (at != used || bitByBit.http1Header != atOnce.http1Header) {
			t.Errorf("in pieces %d, %v, %v, %+v; at once %d, %v, %v, %+v", at, again, wrong, bitByBit.http1Header, used, whole, err, atOnce.http1Header)
		}
		first := atOnce.http1Header
		atOnce.reset(false)
		if n, again, wrong := atOnce.feed(answer); n != used || again != whole || (wrong != nil) != (err != nil) || whole && atOnce.http1Header != first {
			t.Errorf("again %d, %v, %v, %+v; first %d, %v, %v, %+v", n, again, wrong, atOnce.http1Header, used, whole, err, first)
		}
	})
}

// Chunks decide how long a body is, whatever else the header says: RFC 9112 section 6.3.
func TestChunksOverrideLength(t *testing.T) {
	t.Parallel()
	const next = "HTTP/1.1 204 No Content\r\n\r\n"
	for _, fields := range []string{
		"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
	} {
		answers := "HTTP/1.1 200 OK\r\n" + fields + "\r\n2\r\nok\r\n0\r\n\r\n" + next
		var a http1Answer
		for _, want := range []int{200, 204} {
			used, whole, err := a.feed([]byte(answers))
			if err != nil || !whole || a.status != want {
				t.Errorf("%q: status %d, %v, want %d", fields, a.status, err, want)
			}
			answers = answers[used:]
			a.reset(false)
		}
	}
}
