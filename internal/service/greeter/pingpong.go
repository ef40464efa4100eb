package greeter

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"

	"postage/internal/service/greeter/hello"
)

// pingPong is the floor of raw TCP and raw TLS: it answers every frame with a prepared frame of the
// same length.
func (h *host) pingPong() (string, error) {
	return h.accept(func(conn net.Conn) { h.pong(conn) })
}

// handshake is the floor that does a TLS handshake and nothing else.
func (h *host) handshake() (string, error) {
	return h.accept(func(conn net.Conn) { _ = conn.(*tls.Conn).Handshake() })
}

// accept calls serve for each connection, then closes the connection.
func (h *host) accept(serve func(net.Conn)) (string, error) {
	l, err := h.secure()
	if err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String(), nil
}

// pong answers frames until there are no more. Without a handler, frames of the same length in a
// row get the same reply.
func (h *host) pong(conn io.ReadWriter) {
	in := bufio.NewReaderSize(conn, 64<<10)
	var body, reply []byte
	made := -1 // the length of body that reply answers
	for {
		var err error
		if body, err = hello.ReadFrame(in, body); err != nil {
			return
		}
		h.request("")
		if made != len(body) || h.handler != nil {
			if reply, err = h.frame(body); err != nil {
				return
			}
			made = len(body)
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// frame returns the reply to a body.
func (h *host) frame(body []byte) ([]byte, error) {
	request := new(hello.Request)
	if err := h.codec.Unmarshal(body, request); err != nil {
		return nil, err
	}
	out, err := h.answer(request, "")
	if err != nil {
		return nil, err
	}
	return hello.AppendFrame(nil, out), nil
}
