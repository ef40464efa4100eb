package pbfast_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"

	pb "postage/pbfast/internal/testmessages/conformance"
	"postage/pbfast/runtime"
)

// A codec is a tested way from bytes to a message and back: "hook" is proto.Marshal and
// proto.Unmarshal with pbfast behind them, "opaque" the same on messages with the opaque API,
// "direct" pbfast's methods on messages, and "protobuf" protobuf-go's own code, which shows what is
// to be expected.
type codec struct {
	marshal   func(proto.Message) ([]byte, error)
	unmarshal func([]byte, proto.Message) error
	opaque    bool // messages of editions are those like them that have the opaque API
}

var codecs = map[string]codec{
	"hook":   {marshal: proto.Marshal, unmarshal: proto.Unmarshal},
	"opaque": {marshal: proto.Marshal, unmarshal: proto.Unmarshal, opaque: true},
	"direct": {
		marshal: func(m proto.Message) ([]byte, error) {
			return m.(interface{ MarshalAppend([]byte) ([]byte, error) }).MarshalAppend(nil)
		},
		unmarshal: func(data []byte, m proto.Message) error {
			return m.(interface{ Unmarshal([]byte) error }).Unmarshal(data)
		},
	},
	"protobuf": {
		marshal: func(m proto.Message) ([]byte, error) {
			out, err := runtime.Original(m.ProtoReflect()).Marshal(protoiface.MarshalInput{Message: m.ProtoReflect()})
			if err == nil {
				err = proto.CheckInitialized(m)
			}
			return out.Buf, err
		},
		unmarshal: func(data []byte, m proto.Message) error {
			return theirs(data, m, proto.UnmarshalOptions{})
		},
	},
}

// TestMain is also the program that the suite's runner starts: it answers requests on its standard
// input by the codec that POSTAGE_CONFORMANCE names, as the runner passes no arguments.
func TestMain(m *testing.M) {
	codec, ok := codecs[os.Getenv("POSTAGE_CONFORMANCE")]
	if !ok {
		os.Exit(m.Run())
	}
	if err := serve(os.Stdin, os.Stdout, codec); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// serve answers requests until there are no more. Each message has its length before, as four
// bytes.
func serve(in io.Reader, out io.Writer, codec codec) error {
	for {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		data := make([]byte, binary.LittleEndian.Uint32(length[:]))
		if _, err := io.ReadFull(in, data); err != nil {
			return err
		}
		request := new(pb.ConformanceRequest)
		if err := proto.Unmarshal(data, request); err != nil {
			return err
		}
		answer, err := proto.Marshal(respond(request, codec))
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(length[:], uint32(len(answer)))
		if _, err := out.Write(append(length[:], answer...)); err != nil {
			return err
		}
	}
}

func respond(request *pb.ConformanceRequest, codec codec) *pb.ConformanceResponse {
	// The names of the message, and of extensions in text, are changed on the way in and back on
	// the way out.
	name, toOpaque, back := request.GetMessageType(), strings.NewReplacer(), strings.NewReplacer()
	if codec.opaque {
		const theirs, ours = "protobuf_test_messages.editions", "protobuf_test_messages.opaque"
		name = strings.Replace(name, theirs, ours, 1)
		toOpaque, back = strings.NewReplacer("["+theirs, "["+ours), strings.NewReplacer("["+ours, "["+theirs)
	}
	messageType, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return &pb.ConformanceResponse{Result: &pb.ConformanceResponse_Skipped{Skipped: "no such message here"}}
	}
	m := messageType.New().Interface()
	switch payload := request.Payload.(type) {
	case *pb.ConformanceRequest_ProtobufPayload:
		err = codec.unmarshal(payload.ProtobufPayload, m)
	case *pb.ConformanceRequest_JsonPayload:
		err = protojson.UnmarshalOptions{
			DiscardUnknown: request.TestCategory == pb.TestCategory_JSON_IGNORE_UNKNOWN_PARSING_TEST,
		}.Unmarshal([]byte(toOpaque.Replace(payload.JsonPayload)), m)
	case *pb.ConformanceRequest_TextPayload:
		err = prototext.Unmarshal([]byte(toOpaque.Replace(payload.TextPayload)), m)
	default:
		return &pb.ConformanceResponse{Result: &pb.ConformanceResponse_Skipped{Skipped: "no such payload here"}}
	}
	if err != nil {
		return &pb.ConformanceResponse{Result: &pb.ConformanceResponse_ParseError{ParseError: err.Error()}}
	}
	response := new(pb.ConformanceResponse)
	switch request.RequestedOutputFormat {
	case pb.WireFormat_PROTOBUF:
		var data []byte
		if data, err = codec.marshal(m); err == nil {
			response.Result = &pb.ConformanceResponse_ProtobufPayload{ProtobufPayload: data}
		}
	case pb.WireFormat_JSON:
		var data []byte
		if data, err = protojson.Marshal(m); err == nil {
			response.Result = &pb.ConformanceResponse_JsonPayload{JsonPayload: back.Replace(string(data))}
		}
	case pb.WireFormat_TEXT_FORMAT:
		var data []byte
		if data, err = (prototext.MarshalOptions{EmitUnknown: request.PrintUnknownFields}).Marshal(m); err == nil {
			response.Result = &pb.ConformanceResponse_TextPayload{TextPayload: back.Replace(string(data))}
		}
	default:
		return &pb.ConformanceResponse{Result: &pb.ConformanceResponse_Skipped{Skipped: "no such format here"}}
	}
	if err != nil {
		return &pb.ConformanceResponse{Result: &pb.ConformanceResponse_SerializeError{SerializeError: err.Error()}}
	}
	return response
}
