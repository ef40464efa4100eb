package greeter

import (
	"io"
	"log"

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
	}
	go func() { _ = s.Serve(l) }()
	return l.Addr().String(), nil
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
