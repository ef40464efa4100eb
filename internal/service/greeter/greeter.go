// Package greeter is a server that says hello over each of several protocols. It runs in a process
// of its own, so that the client's and the server's costs of a message are measured separately.
//
// The process is this program again, see [proc.StartServer]. It reads its Config, answers with the
// address where it listens, and then answers every question with its Counters.
package greeter

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	"postage/internal/service/greeter/hello"
	"postage/internal/service/greeter/wire"
	"postage/internal/service/tlscert"
	"postage/internal/sys/link"
	"postage/internal/sys/proc"
)

// Config says what the server is.
type Config struct {
	// Server is nethttp, fasthttp, http3, grpc, connect, tcp, tls, quic or handshake.
	Server string `json:"server"`
	// Addr is where to listen, "" for any free port of 127.0.0.1, or of Place.
	Addr string `json:"addr,omitempty"`
	// Place is the end of a link where the server listens, nil for this machine's own network.
	Place *link.End `json:"place,omitempty"`
	// Answer is the length of the answer's payload, see [hello.Filling]. With 0 the server answers
	// with the request's payload.
	Answer int `json:"answer,omitempty"`
	// Cert is the server's certificate, nil without TLS.
	Cert *tlscert.Pair `json:"cert,omitempty"`
	// Body names the codec of messages: json, proto or vtproto.
	Body string `json:"body"`
	// Early lets clients send before the handshake is done (QUIC's 0-RTT).
	Early bool `json:"early,omitempty"`
	// Fault makes the server misbehave, for tests of proofs.
	Fault Fault `json:"fault,omitempty"`
}

// Fault is how a server misbehaves.
type Fault struct {
	// DieAfter ends the process in the middle of the request of that number.
	DieAfter int64 `json:"die_after,omitempty"`
	// HTTP1Only makes an HTTP/2 server offer HTTP/1.1 alone.
	HTTP1Only bool `json:"http1_only,omitempty"`
	// HalfClose makes it send the end of the stream as soon as it accepts a connection.
	HalfClose bool `json:"half_close,omitempty"`
	// Garble makes it change the reply.
	Garble bool `json:"garble,omitempty"`
	// Refuse makes it answer with an error.
	Refuse bool `json:"refuse,omitempty"`
}

// Counters is what the server has done since it was started.
type Counters struct {
	CPUNS  int64  `json:"cpu_ns"` // user and system time, -1 where unknown
	Allocs uint64 `json:"allocs"`
	Bytes  uint64 `json:"bytes"` // allocated

	Conns    int64 `json:"conns"` // accepted
	Requests int64 `json:"requests"`
	WireIn   int64 `json:"wire_in"`
	WireOut  int64 `json:"wire_out"`

	Handshakes int64 `json:"handshakes"`
	Resumed    int64 `json:"resumed"` // of the handshakes
	Early      int64 `json:"early"`   // connections with data before the handshake was done

	// How the last connection and request came.
	Proto string `json:"proto"` // HTTP's version as the server saw it
	ALPN  string `json:"alpn"`
	TLS   string `json:"tls"`
	QUIC  string `json:"quic"`
}

// greeting is what the server says when it is ready.
type greeting struct {
	Addr string `json:"addr"`
}

// Name starts the server, see [proc.StartServer].
const Name = "greeter"

// RPC is the server's gRPC method.
const RPC = "postage.send.Greeter/Hello"

// Serve is the main function of a server process, a [proc.Server].
func Serve(stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReader(stdin)
	var config Config
	if err := proc.ReadConfig(in, &config); err != nil {
		return err
	}
	addr, counters, err := Listen(config, nil)
	if err != nil {
		return proc.Refuse(stdout, err)
	}
	return proc.Serve(in, stdout, greeting{addr}, func(json.RawMessage) (any, error) { return counters(), nil })
}

// A Handler takes a request's payload and returns the reply's, in place of a hello. With
// Config.Body [hello.Raw] both are the caller's own messages. The handler must not keep the request
// after it returns.
type Handler func(payload []byte) ([]byte, error)

// Listen starts a server in this process, which serves until it ends. Without a handler it says
// hello.
func Listen(config Config, handler Handler) (addr string, counters func() Counters, err error) {
	h := &host{config: config, handler: handler}
	addr, err = h.listen()
	return addr, h.counters, err
}

// host is what all kinds of servers share.
type host struct {
	config  Config
	handler Handler // nil to say hello
	codec   hello.Codec
	filling []byte // the answer's payload, nil for the request's
	wire    wire.Count
	seen    seen
}

// listen starts the server, which serves until the process ends.
func (h *host) listen() (addr string, err error) {
	if h.codec, err = hello.CodecNamed(h.config.Body); err != nil {
		return "", err
	}
	h.filling = hello.Filling(h.config.Answer, 0)
	start, ok := map[string]func() (string, error){
		"nethttp":   h.netHTTP,
		"connect":   h.connect,
		"fasthttp":  h.fastHTTP,
		"http3":     h.http3,
		"grpc":      h.grpc,
		"tcp":       h.pingPong,
		"tls":       h.pingPong,
		"quic":      h.quicPingPong,
		"handshake": h.handshake,
	}[h.config.Server]
	if !ok {
		return "", fmt.Errorf("there is no server %q", h.config.Server)
	}
	return start()
}

func (h *host) counters() Counters {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	cpu, known := proc.CPU()
	if !known {
		cpu = -1
	}
	c := Counters{
		CPUNS: cpu.Nanoseconds(), Allocs: memory.Mallocs, Bytes: memory.TotalAlloc,
		Conns: h.wire.Conns.Load(), WireIn: h.wire.In.Load(), WireOut: h.wire.Out.Load(),
	}
	h.seen.fill(&c)
	return c
}

// tcp listens, and counts bytes and connections.
func (h *host) tcp() (net.Listener, error) {
	l, err := h.config.Place.Listen(h.config.Addr)
	if err != nil {
		return nil, err
	}
	l = h.wire.Listener(l)
	if h.config.Fault.HalfClose {
		l = halfClosing{l}
	}
	return l, nil
}

// tls returns the server's TLS configuration, nil without TLS.
func (h *host) tls(alpn ...string) (*tls.Config, error) {
	if h.config.Cert == nil {
		return nil, nil
	}
	cert, err := h.config.Cert.Server()
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return &tls.Config{
		Certificates:     []tls.Certificate{cert},
		NextProtos:       alpn,
		VerifyConnection: h.seen.handshake,
	}, nil
}

// secure is tcp, followed by the TLS handshake if the server has TLS.
func (h *host) secure(alpn ...string) (net.Listener, error) {
	config, err := h.tls(alpn...)
	if err != nil {
		return nil, err
	}
	l, err := h.tcp()
	if err != nil || config == nil {
		return l, err
	}
	return tls.NewListener(l, config), nil
}

// quicSocket opens a socket, whose bytes it counts, for QUIC's handshakes with the configuration.
func (h *host) quicSocket(alpn string) (net.PacketConn, *tls.Config, error) {
	config, err := h.tls(alpn)
	if err != nil {
		return nil, nil, err
	}
	if config == nil {
		return nil, nil, errors.New("RFC 9001: QUIC has no cleartext")
	}
	conn, err := h.config.Place.ListenUDP(h.config.Addr)
	if err != nil {
		return nil, nil, err
	}
	return h.wire.Packets(conn), config, nil
}

// halfClosing sends the end of the stream as soon as it accepts a connection.
type halfClosing struct{ net.Listener }

func (l halfClosing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn, conn.(interface{ CloseWrite() error }).CloseWrite()
}

// request counts a request, and misbehaves if configured to.
func (h *host) request(proto string) {
	n := h.seen.request(proto)
	if h.config.Fault.DieAfter > 0 && n == h.config.Fault.DieAfter {
		fmt.Fprintln(os.Stderr, "greeter: dies as it was told to")
		os.Exit(7)
	}
}

// greet answers a request.
func (h *host) greet(request *hello.Request, proto string) (*hello.Reply, error) {
	if h.handler != nil {
		payload, err := h.handler(request.Payload)
		return &hello.Reply{Payload: payload}, err
	}
	if h.config.Fault.Refuse {
		return nil, errors.New("refused, as it was told to")
	}
	reply := hello.Greeting(request, proto)
	if h.filling != nil {
		reply.Payload = h.filling
	}
	if h.config.Fault.Garble {
		reply.Response = "Goodbye"
	}
	return reply, nil
}

// answer answers a request with an encoded reply.
func (h *host) answer(request *hello.Request, proto string) ([]byte, error) {
	reply, err := h.greet(request, proto)
	if err != nil {
		return nil, err
	}
	return h.codec.Marshal(reply)
}
