package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/jhump/protoreflect/grpcreflect"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// openGRPC encodes each message once and sends its bytes over HTTP/2:
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
func openGRPC(ctx context.Context, t *Target, p *Pool) error {
	method, err := findMethod(ctx, t)
	if err != nil {
		return fmt.Errorf("method %s: %w", t.RPC, err)
	}
	var requests []http2Request
	var streams []streamRequest
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	for i := range t.Requests {
		r := &t.Requests[i]
		data, err := encodeMessage(method, r.Body)
		if err != nil {
			return err
		}
		streams = append(streams, streamRequest{data, r.metadata()})
		if t.Timeout > 0 && r.Header.Get("Grpc-Timeout") == "" {
			r.Header.Set("Grpc-Timeout", fmt.Sprintf("%dm", min(max(1, t.Timeout.Milliseconds()), 99_999_999)))
		}
		body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))) // not compressed
		fields := fields(http.MethodPost, r.URL.Scheme, r.host(), path,
			hpack.HeaderField{Name: "content-type", Value: "application/grpc"},
			hpack.HeaderField{Name: "te", Value: "trailers"})
		requests = append(requests, http2Request{append(fields, r.fields()...), append(body, data...)})
	}
	if method.IsStreamingClient() || method.IsStreamingServer() || t.plain {
		if t.secure() && t.Request.Header.Get("Host") != "" {
			return errors.New("header field Host: over TLS grpc-go, which sends streams, names the URL's host")
		}
		return openStreams(t, p, method, streams)
	}
	return p.addHTTP2(t, requests, replied)
}

func encodeMessage(method protoreflect.MethodDescriptor, body []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(method.Input())
	if len(body) > 0 {
		if err := protojson.Unmarshal(body, message); err != nil {
			return nil, fmt.Errorf("read the body as %s: %w", method.Input().FullName(), err)
		}
	}
	return proto.Marshal(message)
}

// replied returns the grpc-status of an answer to a unary call, and whether it is a success. Status
// 0, OK, is returned as okStatus.
func replied(s *stream) (status int, err error) {
	err = repliedWell(s)
	switch {
	case err == nil:
		status = okStatus
	case s.grpc > 0 && s.status == http.StatusOK:
		status = s.grpc
	}
	return status, err
}

// okStatus is gRPC's OK among the statuses of a Result, where 0 is no status.
const okStatus = -1

// StatusName returns a status of a Result in the words of its protocol: "200", or "OK" for gRPC,
// whose codes are smaller than HTTP's.
func StatusName(status int) string {
	switch {
	case status >= 100:
		return strconv.Itoa(status)
	case status == okStatus:
		return codes.OK.String()
	}
	return codes.Code(status).String()
}

func repliedWell(s *stream) error {
	switch {
	case s.status != http.StatusOK:
		return fmt.Errorf("status %d", s.status)
	case !strings.HasPrefix(s.kind, "application/grpc"):
		return fmt.Errorf("the answer is not gRPC: its content type is %q", s.kind)
	case s.grpc < 0:
		return errors.New("the answer has no grpc-status")
	case s.grpc > 0:
		text, err := url.PathUnescape(s.message)
		if err != nil {
			text = s.message
		}
		return fmt.Errorf("%v: %s", codes.Code(s.grpc), text)
	case len(s.prefix) < 5 || s.prefix[0] > 1 || s.received != 5+int64(binary.BigEndian.Uint32(s.prefix[1:])):
		return errors.New("the answer is not exactly one message")
	}
	return nil
}

// grpcClient returns grpc-go's client, which connects as everything else does. Over TLS its requests
// name the server by its certificate's name alone.
func (t *Target) grpcClient() (*grpc.ClientConn, error) {
	config := t.tls("h2")
	creds, authority := credentials.NewTLS(config), config.ServerName
	if !t.secure() {
		creds, authority = insecure.NewCredentials(), t.Request.host()
	}
	return grpc.NewClient("passthrough:///"+t.addr(), grpc.WithTransportCredentials(creds), grpc.WithAuthority(authority), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return t.dialPlain(ctx, "", "") }))
}

// findMethod finds the description of the method in a file, or asks the server.
func findMethod(ctx context.Context, t *Target) (protoreflect.MethodDescriptor, error) {
	service, name, ok := strings.Cut(strings.TrimPrefix(t.RPC, "/"), "/")
	if !ok {
		return nil, errors.New("want pkg.Service/Method")
	}
	var descriptor protoreflect.Descriptor
	var err error
	if t.ProtoFile != "" {
		descriptor, err = fromFile(ctx, t.ProtoFile, t.ProtoPaths, protoreflect.FullName(service))
	} else {
		descriptor, err = reflected(ctx, t, protoreflect.FullName(service))
	}
	if err != nil {
		return nil, err
	}
	s, ok := descriptor.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a service", service)
	}
	method := s.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		return nil, fmt.Errorf("the service has no method %q", name)
	}
	return method, nil
}

// fromFile reads a descriptor set, or compiles a .proto file, whose imports are looked for in paths
// and beside it.
func fromFile(ctx context.Context, path string, paths []string, service protoreflect.FullName) (protoreflect.Descriptor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) != ".proto" {
		set := new(descriptorpb.FileDescriptorSet)
		if err := proto.Unmarshal(text, set); err != nil {
			return nil, fmt.Errorf("%s is neither a .proto file nor a descriptor set: %w", path, err)
		}
		files, err := protodesc.NewFiles(set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w (make it with --include_imports)", path, err)
		}
		return files.FindDescriptorByName(service)
	}
	name, err := importedAs(path, paths)
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: append(slices.Clone(paths), filepath.Dir(path)),
	})}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return nil, err
	}
	found := files[0].FindDescriptorByName(service)
	if found == nil {
		return nil, fmt.Errorf("%s does not define %s", path, service)
	}
	return found, nil
}

// importedAs returns the name by which other files import a file: its path below one of paths.
func importedAs(path string, paths []string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for _, folder := range paths {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return "", err
		}
		if name, err := filepath.Rel(folder, whole); err == nil && filepath.IsLocal(name) {
			return filepath.ToSlash(name), nil
		}
	}
	return filepath.Base(path), nil
}

// reflected asks the server for the file of a service and the files that it imports.
func reflected(ctx context.Context, t *Target, service protoreflect.FullName) (protoreflect.Descriptor, error) {
	conn, err := t.grpcClient()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	client := grpcreflect.NewClientAuto(ctx, conn) // by v1, and by v1alpha where there is no other
	defer client.Reset()
	found, err := client.ResolveService(string(service))
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil, errors.New("the server has no reflection: name the method's .proto file (--proto-file)")
	case err != nil:
		return nil, fmt.Errorf("server reflection: %w", err)
	}
	return found.UnwrapService(), nil
}
