package encode

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"postage/pbfast"
	"postage/stage/encode/internal/bind"
	"postage/stage/encode/internal/pbhook"
)

// Messages go to a Connect service and back, by each of its protocols and both of its codecs, with
// pbfast behind proto.Marshal and proto.Unmarshal.
func TestPbfastConnect(t *testing.T) {
	if err := pbfast.HookError((*pbhook.Order)(nil)); err != nil {
		t.Fatal(err)
	}
	const path = "/postage.Orders/Echo"
	mux := http.NewServeMux()
	mux.Handle(path, connect.NewUnaryHandler(path, func(_ context.Context, r *connect.Request[pbhook.Order]) (*connect.Response[pbhook.Order], error) {
		r.Msg.Serial++
		return connect.NewResponse(r.Msg), nil
	}))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true // gRPC needs HTTP/2
	server.StartTLS()
	defer server.Close()
	for name, option := range map[string]connect.ClientOption{
		"connect":       connect.WithClientOptions(),
		"connect, JSON": connect.WithProtoJSON(),
		"gRPC":          connect.WithGRPC(),
		"gRPC-Web":      connect.WithGRPCWeb(),
	} {
		client := connect.NewClient[pbhook.Order, pbhook.Order](server.Client(), server.URL+path, option)
		rnd := rand.New(rand.NewPCG(1, 0))
		var sent, kept []*pbhook.Order
		for range 20 {
			order := drawOrder(rnd)
			want := bind.Order().Hooked.From(&order)
			got, err := client.CallUnary(t.Context(), connect.NewRequest(want))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want.Serial++
			sent, kept = append(sent, want), append(kept, got.Msg)
		}
		for i, want := range sent { // Connect has used its buffers again
			if !proto.Equal(kept[i], want) {
				t.Fatalf("%s: came back as %v, want %v", name, kept[i], want)
			}
		}
	}
}
