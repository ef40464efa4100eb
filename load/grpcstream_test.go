package load

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"postage/internal/service/tlscert"
)

// streamer is grpc-go's server of a service that streams. It answers a bidirectional stream
// message by message, 5 ms after each.
type streamer struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (streamer) StreamingOutputCall(r *grpc_testing.StreamingOutputCallRequest, s grpc.ServerStreamingServer[grpc_testing.StreamingOutputCallResponse]) error {
	for range r.ResponseParameters {
		time.Sleep(20 * time.Millisecond)
		if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: r.Payload}); err != nil {
			return err
		}
	}
	return nil
}

func (streamer) StreamingInputCall(s grpc.ClientStreamingServer[grpc_testing.StreamingInputCallRequest, grpc_testing.StreamingInputCallResponse]) error {
	if md, _ := metadata.FromIncomingContext(s.Context()); len(md["x-who"]) != 1 {
		return status.Error(codes.Unauthenticated, "who?")
	}
	total := 0
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(&grpc_testing.StreamingInputCallResponse{AggregatedPayloadSize: int32(total)})
		} else if err != nil {
			return err
		}
		total += len(r.Payload.Body)
	}
}

func (streamer) FullDuplexCall(s grpc.BidiStreamingServer[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse]) error {
	for n := 1; ; n++ {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch string(r.Payload.GetBody()) {
		case "fail":
			return status.Error(codes.ResourceExhausted, "enough")
		case "hang":
			<-s.Context().Done()
			return status.FromContextError(s.Context().Err()).Err()
		case "end":
			return nil
		}
		time.Sleep(5 * time.Millisecond)
		if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: r.Payload}); err != nil {
			return err
		}
	}
}

func streams(t *testing.T, method, body string, messages int, timeout time.Duration) *Result {
	t.Helper()
	return streamsOver(t, nil, method, body, messages, timeout)
}

// Streams go over TLS too, and then name the URL's host and port.
func TestStreamsOverTLS(t *testing.T) {
	t.Parallel()
	pair := certificate(t)
	if r := streamsOver(t, pair, "FullDuplexCall", `{"payload":{"body":"cG9zdGFnZQ=="}}`, 2, 0); r.Failed() > 0 || r.Messages.Sent != 40 || r.Messages.Received != 40 {
		t.Errorf("%+v", r)
	}
}

func streamsOver(t *testing.T, pair *tlscert.Pair, method, body string, messages int, timeout time.Duration) *Result {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := &Target{
		Proto: "grpc", Conns: 2, Streams: 5, RPC: "grpc.testing.TestService/" + method, Messages: messages, Timeout: timeout,
		Request: Request{URL: parsed(t, "http://"+listener.Addr().String()), Body: []byte(body), Header: http.Header{"X-Who": {"Ann"}}},
	}
	var options []grpc.ServerOption
	if pair != nil {
		target.Request.URL.Scheme = "https"
		target.TLS = &tls.Config{RootCAs: pair.Pool(), ServerName: tlscert.ServerName}
		certificate, err := pair.Server()
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	}
	server := grpc.NewServer(options...)
	grpc_testing.RegisterTestServiceServer(server, streamer{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	pool := opened(t, target)
	r, err := Run(t.Context(), Plan{Pacer: Constant{50, 400 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != 20 {
		t.Fatalf("%v, %+v", err, r)
	}
	return r
}

// Streams of all three kinds are requests. Their messages are counted, and measured where one
// answers another or follows it.
func TestStreams(t *testing.T) {
	t.Parallel()
	r := streams(t, "FullDuplexCall", `{"payload":{"body":"cG9zdGFnZQ=="}}`, 8, 0)
	if r.Failed() > 0 || r.Statuses[okStatus] != 20 || r.Messages.Sent != 160 || r.Messages.Received != 160 || r.Messages.Latency.TotalCount() != 160 {
		t.Errorf("bidirectional: %+v", r)
	}
	// Each message takes 5 ms at least, and a stream eight times as long.
	if m, s := r.Messages.Latency.Min(), r.Latency.Min(); m < 4.9e6 || s < 40e6 {
		t.Errorf("bidirectional: a message took %d ns, a stream %d", m, s)
	}
	r = streams(t, "StreamingOutputCall", `{"responseParameters":[{"size":1},{"size":1},{"size":1}]}`, 1, 0)
	if r.Failed() > 0 || r.Messages.Sent != 20 || r.Messages.Received != 60 || r.Messages.Latency.TotalCount() != 60 {
		t.Errorf("server: %+v", r)
	}
	// Each is measured from the one before, not from the stream's beginning: together a stream's
	// messages take as long as the stream.
	if m, s := r.Messages.Latency.Mean(), r.Latency.Mean(); m < 19e6 || 3*m > 1.01*s {
		t.Errorf("server: a message took %.0f ns, a stream %.0f", m, s)
	}
	r = streams(t, "StreamingInputCall", `{"payload":{"body":"cG9zdGFnZQ=="}}`, 10, 0)
	if r.Failed() > 0 || r.Messages.Sent != 200 || r.Messages.Received != 20 || r.Messages.Latency.Histogram != nil {
		t.Errorf("client: %+v", r)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "messages  200 sent, 20 received") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// How a stream fails is reported by its status, or by what the client saw.
func TestStreamFailures(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"ZmFpbA==": "ResourceExhausted: enough",
		"aGFuZw==": "no answer within 50ms",
		"ZW5k":     "the stream ended before all messages were answered",
	} {
		timeout := 30 * time.Second
		if strings.Contains(want, "50ms") {
			timeout = 50 * time.Millisecond
		}
		r := streams(t, "FullDuplexCall", `{"payload":{"body":"`+body+`"}}`, 2, timeout)
		if r.Errors[want] != 20 {
			t.Errorf("want %s: %v", want, r.Errors)
		}
		if n := r.Statuses[int(codes.ResourceExhausted)]; strings.HasPrefix(want, "Res") && n != 20 {
			t.Errorf("statuses %v", r.Statuses)
		}
	}
	r := streams(t, "HalfDuplexCall", `{}`, 1, 0)
	if r.Statuses[int(codes.Unimplemented)] != 20 {
		t.Errorf("%v, %v", r.Statuses, r.Errors)
	}
}
