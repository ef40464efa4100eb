package codegen

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"postage/internal/usermsg"
)

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
