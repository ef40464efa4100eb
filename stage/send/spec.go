package send

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"

	"postage/internal/service/greeter/hello"
	"postage/internal/service/tlscert"
)

// A spec is one choice in each of the stage's dimensions.
type spec struct {
	tls    bool
	cert   tlscert.Kind
	reuse  bool
	resume resume
	body   hello.Codec
	size   int // of the payload in each direction in bytes, 0 for the page's hello
	answer int // of the answer's payload in bytes, 0 for the request's
	// inflight is how many operations are under way at a time, each in a goroutine of its own; 0
	// means GOMAXPROCS, as on the page.
	inflight int
	// conns is how many connections they share; 0 means one each.
	conns int
	// secure is the text in the request.
	secure string
}

// resume says how new connections continue TLS sessions.
type resume string

const (
	resumeNo    resume = "no"   // full handshakes
	resumeYes   resume = "yes"  // TLS 1.3 tickets, RFC 8446 section 2.2
	resumeEarly resume = "0rtt" // and the request is sent in the first flight, RFC 9001 section 4.6
)

// lanes is how many goroutines work.
func (s *spec) lanes() int {
	if s.inflight == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return s.inflight
}

// clients is how many clients they share.
func (s *spec) clients() int {
	if s.conns == 0 || s.conns > s.lanes() {
		return s.lanes()
	}
	return s.conns
}

// settings are what a row's name may leave out.
func (s *spec) settings(more map[string]string) map[string]string {
	out := map[string]string{
		"body": s.body.Name, "reuse": yesNo(s.reuse), "size": sizeName(s.size),
		"inflight": "gomaxprocs", "conns": "inflight", "tls": onOff(s.tls),
	}
	if s.answer > 0 {
		out["answer"] = sizeName(s.answer)
	}
	if s.inflight > 0 {
		out["inflight"] = strconv.Itoa(s.inflight)
	}
	if s.conns > 0 {
		out["conns"] = strconv.Itoa(s.conns)
	}
	if s.tls {
		out["cert"], out["resume"], out["verify"] = string(s.cert), string(s.resume), "yes"
	}
	maps.Copy(out, more)
	return out
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func sizeName(bytes int) string {
	switch {
	case bytes == 0:
		return "hello"
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%dm", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%dk", bytes>>10)
	}
	return strconv.Itoa(bytes)
}

// bytesOf is the size that has such a name. It panics if none has.
func bytesOf(name string) int {
	if name == "hello" {
		return 0
	}
	unit := map[byte]int{'k': 1 << 10, 'm': 1 << 20}[name[len(name)-1]]
	n, err := strconv.Atoi(name[:len(name)-1])
	if err != nil || unit == 0 {
		panic(fmt.Sprintf("send: %q is not a size", name))
	}
	return n * unit
}
