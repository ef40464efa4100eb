// Command protoc-gen-pbfast is a plug-in of protoc and buf. It adds methods to the messages that
// protoc-gen-go makes, with which proto.Marshal and proto.Unmarshal are several times as fast.
//
//	protoc --go_out=. --pbfast_out=. --go_opt=paths=source_relative --pbfast_opt=paths=source_relative x.proto
//
// It takes protoc-gen-go's parameters, and these:
//
//	hook=false     leave proto.Marshal and proto.Unmarshal alone
//	methods=true   exported methods, too: MarshalAppend, UnmarshalAlias and so on
//	methods=Fast   the same with names that begin so: FastMarshalAppend
//	names=vt       methods by vtprotobuf's names: MarshalVT, UnmarshalVT, SizeVT and so on
//	skip=NAME      leave a message to protobuf-go
//	tag=NAME       the build tag of generated files
//	alias=NAME     strings and bytes of a field, or a message's fields, are parts of the input, which must not change
//	reuse=NAME     UnmarshalReuse for a message and all that it holds; for every message with reuse=true
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
	for _, parameter := range []string{"reuse", "skip", "alias"} {
		flags.Func(parameter, "", func(name string) error {
			if parameter == "reuse" && name == "true" {
				options.Reuse = true
				return nil
			}
			return options.Set(parameter, name)
		})
	}
	flags.StringVar(&options.Tag, "tag", "", "")
	flags.Func("methods", "", func(prefix string) error {
		if options.Methods = prefix != "false"; options.Methods && prefix != "true" {
			options.Prefix = prefix
		}
		return nil
	})
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
