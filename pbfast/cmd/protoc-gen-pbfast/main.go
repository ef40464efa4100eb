// Command protoc-gen-pbfast is a plug-in of protoc and buf. It adds methods to the messages that
// protoc-gen-go makes, with which proto.Marshal and proto.Unmarshal are several times as fast.
//
//	protoc --go_out=. --pbfast_out=. --go_opt=paths=source_relative --pbfast_opt=paths=source_relative x.proto
//
// Its parameters beside those that protoc-gen-go has too:
//
//	hook=false   leave proto.Marshal and proto.Unmarshal alone: only the methods on messages are fast
//	reuse=true   UnmarshalReuse, too: decodes into a kept message, without allocating once it has seen its like
//	reuse=NAME   the same for one message, by its full name, and those that it holds
//	share=true   what proto.Unmarshal decodes shares memory: faster, but who keeps a part keeps the whole
//	share=NAME   the same for one message with all that it holds, or for a field of strings or bytes
//	own=NAME     strings and bytes of a field, or a message's fields, are in memory of their own, whatever decodes them
//	alias=NAME   they are parts of the caller's input, with proto.Unmarshal too: it must not change after
//	names=vt     methods by vtprotobuf's names too: MarshalVT, UnmarshalVT, SizeVT and so on
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"google.golang.org/protobuf/compiler/protogen"

	"postage/pbfast/internal/gen"
)

func main() {
	var flags flag.FlagSet
	var options gen.Options
	flags.BoolVar(&options.Hook, "hook", true, "")
	for parameter, all := range map[string]*bool{"reuse": &options.Reuse, "share": &options.Share} {
		flags.Func(parameter, "", func(value string) error {
			if yes, err := strconv.ParseBool(value); err == nil {
				*all = yes
				return nil
			}
			return options.Set(parameter, value)
		})
	}
	flags.Func("own", "", func(name string) error { return options.Set("own", name) })
	flags.Func("alias", "", func(name string) error { return options.Set("alias", name) })
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
