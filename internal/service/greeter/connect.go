package greeter

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"postage/internal/service/greeter/hello"
)

// connect serves Connect, gRPC-Web and gRPC by connect-go over net/http.
func (h *host) connect() (string, error) {
	handler := connect.NewUnaryHandler(hello.Method, func(_ context.Context, request *connect.Request[hello.Request]) (*connect.Response[hello.Reply], error) {
		reply, err := h.greet(request.Msg, "")
		return connect.NewResponse(reply), err
	}, connect.WithCodec(h.codec.Connect()))
	return h.serveHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.request(r.Proto)
		handler.ServeHTTP(w, r)
	}))
}
