package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A streamLine opens one gRPC stream at a time by grpc-go's client. A stream is one request: its
// latency runs until its status comes. Its messages are measured so:
//
//   - a client stream sends Target.Messages messages, which are counted;
//   - a server stream sends one, and each message that comes is measured from the one before;
//   - a bidirectional stream sends Target.Messages messages, each after the answer to the one
//     before, and each is measured from its sending to its answer.
type streamLine struct {
	target  *Target
	conn    *grpc.ClientConn
	take    func() streamRequest
	desc    *grpc.StreamDesc
	method  string
	options []grpc.CallOption
}

// A streamRequest is an encoded message, and the metadata of its stream.
type streamRequest struct {
	message []byte
	fields  metadata.MD
}

func openStreams(t *Target, p *Pool, method protoreflect.MethodDescriptor, requests []streamRequest) error {
	t.Messages = max(t.Messages, 1)
	take := inTurn(requests)
	for range t.Conns {
		conn, err := t.grpcClient()
		if err != nil {
			return err
		}
		p.closers = append(p.closers, conn.Close)
		for range t.Streams {
			p.Lines = append(p.Lines, &streamLine{
				target: t, conn: conn, take: take, method: fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name()),
				desc:    &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: method.IsStreamingServer()},
				options: []grpc.CallOption{grpc.ForceCodec(asItIs{}), grpc.MaxCallRecvMsgSize(64 << 20)},
			})
		}
	}
	return nil
}

// asItIs is a codec for messages that are already encoded.
type asItIs struct{}

func (asItIs) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (asItIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (asItIs) Name() string                       { return "proto" }

// Connect makes the connection that several lines share.
func (l *streamLine) Connect(ctx context.Context) error {
	ctx, cancel := l.target.limited(ctx, "connection")
	defer cancel()
	for l.conn.Connect(); ; {
		switch state := l.conn.GetState(); state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return errors.New("no connection")
		default:
			if !l.conn.WaitForStateChange(ctx, state) {
				return ctx.Err()
			}
		}
	}
}

func (l *streamLine) Serve(ctx context.Context, w *Work) {
	serve(w, func() outcome {
		r := l.take()
		err := l.stream(ctx, w, &r)
		s, known := status.FromError(err)
		code := int(s.Code())
		switch {
		case err == nil:
			code = okStatus
		case !known:
			code = 0
		case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "connection refused"):
			code, err = 0, errors.New("connection refused")
		case s.Code() == codes.DeadlineExceeded && l.target.Timeout > 0 && ctx.Err() == nil:
			code, err = 0, l.target.late("answer")
		default:
			err = fmt.Errorf("%v: %s", s.Code(), s.Message())
		}
		return outcome{status: code, err: err}
	})
}

func (l *streamLine) stream(ctx context.Context, w *Work, r *streamRequest) error {
	ctx, cancel := l.target.limited(ctx, "answer")
	defer cancel() // cancel what is left of the stream
	stream, err := l.conn.NewStream(metadata.NewOutgoingContext(ctx, r.fields), l.desc, l.method, l.options...)
	if err != nil {
		return err
	}
	told := w.message
	if !l.desc.ClientStreams && !l.desc.ServerStreams {
		told = func(bool, time.Duration) {} // the call is its message
	}
	var answer []byte
	messages, both := 1, l.desc.ClientStreams && l.desc.ServerStreams
	if l.desc.ClientStreams {
		messages = l.target.Messages
	}
	last := time.Now()
	for range messages {
		sent := time.Now()
		if err := stream.SendMsg(&r.message); errors.Is(err, io.EOF) {
			return stream.RecvMsg(&answer) // gives the reason for which the server ended it
		} else if err != nil {
			return err
		}
		told(true, 0)
		if both {
			if err := stream.RecvMsg(&answer); errors.Is(err, io.EOF) {
				return errors.New("the stream ended before all messages were answered")
			} else if err != nil {
				return err
			}
			last = time.Now()
			told(false, last.Sub(sent))
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		if err := stream.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		now := time.Now()
		switch {
		case !l.desc.ServerStreams:
			told(false, 0)
			return nil // RecvMsg has already waited for the status
		case both:
			told(false, 0) // it answers no message, so it has no latency
		default:
			told(false, now.Sub(last))
		}
		last = now
	}
}
