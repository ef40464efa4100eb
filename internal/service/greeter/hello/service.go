package hello

import (
	"context"
	"math/rand/v2"

	"google.golang.org/grpc"
)

// Method is the path of the one method, for gRPC and Connect alike.
const Method = "/postage.send.Greeter/Hello"

// Greeter answers a request.
type Greeter func(ctx context.Context, request *Request) (*Reply, error)

// Register gives a gRPC server the one method.
func Register(s grpc.ServiceRegistrar, greet Greeter) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "postage.send.Greeter",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Hello",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := new(Request)
				if err := decode(request); err != nil {
					return nil, err
				}
				return greet(ctx, request)
			},
		}},
		Metadata: "postage/send/hello.proto",
	}, nil)
}

// Filling returns a payload that does not compress, nil for a size of 0.
func Filling(size int, seed uint64) []byte {
	if size == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 4))
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// Greeting returns the server's reply to a request over a protocol. Handlers of gRPC and Connect do
// not know the protocol, and give "".
func Greeting(request *Request, proto string) *Reply {
	reply := &Reply{Response: "Hello " + request.Secure, Payload: request.Payload}
	if proto != "" {
		reply.Response += " on " + proto
	}
	return reply
}
