// Command protoc-gen-pbfast is a plug-in of protoc and buf. It adds methods to the messages that
// protoc-gen-go makes, with which proto.Marshal and proto.Unmarshal are several times as fast.
//
//	protoc --go_out=. --pbfast_out=. --go_opt=paths=source_relative --pbfast_opt=paths=source_relative x.proto
//
// It takes protoc-gen-go's parameters, and these:
//
//	methods=pbfast   exported methods, too: MarshalAppend, UnmarshalAlias and so on
//	methods=reuse    UnmarshalReuse
//	methods=vt       methods by vtprotobuf's names: MarshalVT, UnmarshalVT, SizeVT and so on
//	skip=NAME        leave a message to protobuf-go
//	tag=NAME         the build tag of generated files
//
// Methods and skip may be given several times.
package main

import (
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/compiler/protogen"

	"postage/pbfast/internal/gen"
)

func main() {
	var flags flag.FlagSet
	var options gen.Options
	flags.Func("methods", "", func(set string) error {
		if gen.MethodSets[set] == nil {
			return fmt.Errorf("methods=%s: want pbfast, reuse or vt", set)
		}
		options.Methods = append(options.Methods, set)
		return nil
	})
	flags.Func("skip", "", func(name string) error {
		options.Skip = append(options.Skip, name)
		return nil
	})
	flags.StringVar(&options.Tag, "tag", "", "")
	protogen.Options{ParamFunc: flags.Set}.Run(func(plugin *protogen.Plugin) error {
		notes, err := gen.Run(plugin, options)
		for _, note := range notes {
			fmt.Fprintln(os.Stderr, "protoc-gen-pbfast:", note)
		}
		return err
	})
}
