package pbfast_test

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/memory"
)

// A program that uses proto.Marshal and proto.Unmarshal changes nothing. Its tests can ask whether
// they use the generated code.
func Example() {
	data, err := proto.Marshal(&memory.Part{Name: proto.String("grüezi")})
	if err != nil {
		panic(err)
	}
	got := new(memory.Part)
	if err := proto.Unmarshal(data, got); err != nil {
		panic(err)
	}
	fmt.Println(got.GetName(), pbfast.HookError(got))

	err = proto.Unmarshal([]byte("\n\x02x"), got)
	fmt.Println(errors.Is(err, proto.Error))
	// Output:
	// grüezi <nil>
	// true
}
