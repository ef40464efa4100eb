package codegen

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"postage/internal/usermsg"
)

// A generator that does not end, or takes memory without end, is ended, and the error says why.
func TestBounded(t *testing.T) {
	if os.Getenv("POSTAGE_TEST_HOLD") != "" {
		for held := [][]byte{}; ; time.Sleep(time.Millisecond) {
			held = append(held, make([]byte, 1<<20))
			for i := range held[len(held)-1] {
				held[len(held)-1][i] = 1
			}
		}
	}
	hold := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBounded$")
		cmd.Env = append(os.Environ(), "POSTAGE_TEST_HOLD=1")
		return cmd
	}
	if err := bounded(hold(), 100*time.Millisecond, 1<<40); err == nil || err.Error() != "ended, because it had worked for 100ms" {
		t.Error(err)
	}
	if runtime.GOOS == "linux" {
		if err := bounded(hold(), time.Hour, 100<<20); err == nil || err.Error() != "ended, because it held more than 100 MB" {
			t.Error(err)
		}
	}
}

// A message of more optional fields than msgp can clear loses msgp's row, and no more.
func TestMoreOptionalFieldsThanMsgpTakes(t *testing.T) {
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("m.proto"), Package: proto.String("m"), Syntax: proto.String("proto2"), MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M")}}}
	for i := range msgpOmits + 1 {
		file.MessageType[0].Field = append(file.MessageType[0].Field, &descriptorpb.FieldDescriptorProto{
			Name: proto.String("f" + strings.Repeat("x", i)), Number: proto.Int32(int32(i + 1)),
			Type: descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		})
	}
	data, err := proto.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := broughtSchema(usermsg.Message{File: data, Tree: "../../.."})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeMsgp(s, t.TempDir()); err == nil || err.Error() != "msgp takes no more than 64 optional fields, and M has 65" {
		t.Error(err)
	}
}
