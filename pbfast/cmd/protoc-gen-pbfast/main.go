// Command protoc-gen-pbfast is a plug-in of protoc and buf. It adds methods to the messages that
// protoc-gen-go makes, with which proto.Marshal and proto.Unmarshal are several times as fast.
//
//	protoc --go_out=. --pbfast_out=. --go_opt=paths=source_relative --pbfast_opt=paths=source_relative x.proto
//
// It takes protoc-gen-go's parameters, and these:
//
//	hook=false     leave proto.Marshal and proto.Unmarshal alone
//	methods=true   exported methods, too: MarshalAppend, UnmarshalAlias and so on
//	names=vt       methods by vtprotobuf's names: MarshalVT, UnmarshalVT, SizeVT and so on
//	reuse=true     UnmarshalReuse, too
//	skip=NAME      leave a message to protobuf-go
//	tag=NAME       the build tag of generated files
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
	flags.BoolVar(&options.Hook, "hook", true, "")
	flags.BoolVar(&options.Methods, "methods", false, "")
	flags.BoolVar(&options.Reuse, "reuse", false, "")
	flags.Func("skip", "", func(name string) error {
		options.Skip = append(options.Skip, name)
		return nil
	})
	flags.StringVar(&options.Tag, "tag", "", "")
	flags.Func("names", "", func(names string) error {
		if names != "vt" {
			return fmt.Errorf("names=%s: there is names=vt only", names)
		}
		options.VT = true
		return nil
	})
	protogen.Options{ParamFunc: flags.Set}.Run(func(plugin *protogen.Plugin) error {
		notes, err := gen.Run(plugin, options)
		for _, note := range notes {
			fmt.Fprintln(os.Stderr, "protoc-gen-pbfast:", note)
		}
		return err
	})
}
