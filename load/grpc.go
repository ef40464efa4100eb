package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// openGRPC encodes the message once and sends its bytes.
func openGRPC(ctx context.Context, t *Target, p *Pool) error {
	creds := insecure.NewCredentials()
	if t.secure() {
		creds = credentials.NewTLS(t.tls("h2"))
	}
	var conns []*grpc.ClientConn
	for range t.Conns {
		conn, err := grpc.NewClient("dns:///"+t.addr(), grpc.WithTransportCredentials(creds), grpc.WithDisableServiceConfig())
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		p.closers = append(p.closers, conn.Close)
	}
	method, err := findMethod(ctx, t, conns[0])
	if err != nil {
		return fmt.Errorf("method %s: %w", t.RPC, err)
	}
	if method.IsStreamingClient() || method.IsStreamingServer() {
		return fmt.Errorf("method %s: streams, and only unary methods can be called", t.RPC)
	}
	message := dynamicpb.NewMessage(method.Input())
	if len(t.Request.Body) > 0 {
		if err := protojson.Unmarshal(t.Request.Body, message); err != nil {
			return fmt.Errorf("read the body as %s: %w", method.Input().FullName(), err)
		}
	}
	data, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	header := metadata.MD{}
	for name, values := range t.Request.Header {
		header.Append(name, values...)
	}
	for _, conn := range conns {
		for range t.Streams {
			p.Senders = append(p.Senders, &grpcSender{conn, path, data, header})
		}
	}
	return nil
}

type grpcSender struct {
	conn   *grpc.ClientConn
	path   string
	data   []byte
	header metadata.MD
}

// Send calls the method; the reply is received and not decoded.
func (s *grpcSender) Send(ctx context.Context) error {
	if len(s.header) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, s.header)
	}
	var reply int
	return s.conn.Invoke(ctx, s.path, s.data, &reply, grpc.ForceCodecV2(rawCodec{}))
}

// rawCodec sends bytes as they are and drops what it receives.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

// findMethod finds the method's description: in a file, or by asking the server.
func findMethod(ctx context.Context, t *Target, conn *grpc.ClientConn) (protoreflect.MethodDescriptor, error) {
	service, name, ok := strings.Cut(strings.TrimPrefix(t.RPC, "/"), "/")
	if !ok {
		return nil, errors.New("want pkg.Service/Method")
	}
	var descriptor protoreflect.Descriptor
	var err error
	if t.ProtoFile != "" {
		descriptor, err = fromFile(ctx, t.ProtoFile, protoreflect.FullName(service))
	} else {
		descriptor, err = reflected(ctx, conn, protoreflect.FullName(service))
	}
	if err != nil {
		return nil, err
	}
	s, ok := descriptor.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no service", service)
	}
	method := s.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		return nil, fmt.Errorf("the service has no method %q", name)
	}
	return method, nil
}

// fromFile compiles a .proto file, whose imports are sought beside it.
func fromFile(ctx context.Context, path string, service protoreflect.FullName) (protoreflect.Descriptor, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: []string{filepath.Dir(path)},
	})}
	files, err := compiler.Compile(ctx, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	found := files[0].FindDescriptorByName(service)
	if found == nil {
		return nil, fmt.Errorf("%s does not define %s", path, service)
	}
	return found, nil
}

// reflected asks the server for a service's file and those that it imports.
func reflected(ctx context.Context, conn *grpc.ClientConn, service protoreflect.FullName) (protoreflect.Descriptor, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("server reflection: %w", err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	have := map[string]bool{}
	ask := func(request *reflectionpb.ServerReflectionRequest) error {
		if err := stream.Send(request); err != nil {
			return fmt.Errorf("server reflection: %w", err)
		}
		answer, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("server reflection: %w", err)
		}
		if e := answer.GetErrorResponse(); e != nil {
			return fmt.Errorf("server reflection: %s", e.GetErrorMessage())
		}
		for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(data, file); err != nil {
				return fmt.Errorf("server reflection: %w", err)
			}
			if !have[file.GetName()] {
				have[file.GetName()] = true
				set.File = append(set.File, file)
			}
		}
		return nil
	}
	if err := ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(service)},
	}); err != nil {
		return nil, err
	}
	for i := 0; i < len(set.File); i++ {
		for _, name := range set.File[i].GetDependency() {
			if have[name] {
				continue
			}
			if err := ask(&reflectionpb.ServerReflectionRequest{
				MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: name},
			}); err != nil {
				return nil, err
			}
		}
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("server reflection: %w", err)
	}
	return files.FindDescriptorByName(service)
}
