package greeter

import (
	"errors"
	"io"
	"log"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"postage/internal/service/greeter/hello"
)

// fastHTTP serves HTTP/1.1 by fasthttp.
func (h *host) fastHTTP() (string, error) {
	l, err := h.secure("http/1.1")
	if err != nil {
		return "", err
	}
	s := &fasthttp.Server{
		Handler: h.serveFast, Logger: log.New(io.Discard, "", 0), MaxRequestBodySize: hello.MaxFrame,
		ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
			status := fasthttp.StatusBadRequest
			if errors.Is(err, fasthttp.ErrBodyTooLarge) {
				status = fasthttp.StatusRequestEntityTooLarge
				linger(ctx.Conn())
			}
			ctx.Error(err.Error(), status)
		},
	}
	if h.config.MaxBody > 0 {
		s.MaxRequestBodySize = int(h.config.MaxBody)
	}
	go func() { _ = s.Serve(l) }()
	return l.Addr().String(), nil
}

// linger reads the rest of a request that was answered with an error. fasthttp's client reads the
// answer only after it has sent everything; if the server closes the connection before, it sees a
// broken pipe and no answer. nginx calls this lingering_close.
func linger(conn net.Conn) {
	for buf, sum := make([]byte, 32<<10), 0; sum < hello.MaxFrame; {
		if conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)) != nil {
			return
		}
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		sum += n
	}
}

func (h *host) serveFast(ctx *fasthttp.RequestCtx) {
	proto := string(ctx.Request.Header.Protocol())
	h.request(proto)
	request := new(hello.Request)
	if err := h.codec.Unmarshal(ctx.PostBody(), request); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	out, err := h.answer(request, proto)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType(h.codec.ContentType)
	ctx.Response.SetBodyRaw(out)
}
