package pbfast_test

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"postage/pbfast"
	"postage/pbfast/internal/testmessages/options"
)

// A program that uses proto.Marshal and proto.Unmarshal changes nothing. Its tests can ask whether
// they use the generated code.
func Example() {
	data, err := proto.Marshal(&options.Kept{Usual: "grüezi"})
	if err != nil {
		panic(err)
	}
	got := new(options.Kept)
	if err := proto.Unmarshal(data, got); err != nil {
		panic(err)
	}
	fmt.Println(got.GetUsual(), pbfast.HookError(got))

	err = proto.Unmarshal([]byte("\n\x02\xff\xff"), got)
	fmt.Println(errors.Is(err, proto.Error))
	// Output:
	// grüezi <nil>
	// true
}
