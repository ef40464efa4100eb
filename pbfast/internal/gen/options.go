package gen

import "slices"

// Options are the plug-in's parameters.
type Options struct {
	Methods []string // names of MethodSets
	Tag     string   // the build tag of generated files
	Skip    []string // the full names of messages that are left to protobuf-go
}

// MethodSets are the exported methods that can be asked for. pbfast's own are those that have no
// like in package proto; vt are vtprotobuf's.
var MethodSets = map[string][]string{
	"pbfast": {"SizeOf", "MarshalAppend", "Unmarshal", "UnmarshalAlias"},
	"reuse":  {"UnmarshalReuse"},
	"vt": {
		"SizeVT", "MarshalVT", "MarshalToVT", "MarshalToSizedBufferVT", "MarshalVTStrict", "MarshalToVTStrict", "MarshalToSizedBufferVTStrict",
		"UnmarshalVT", "UnmarshalVTUnsafe", "CloneVT", "CloneMessageVT", "EqualVT", "EqualMessageVT",
	},
}

func (o *Options) has(set string) bool { return slices.Contains(o.Methods, set) }

// methods are the names of exported methods.
func (o *Options) methods() (names []string) {
	for _, set := range o.Methods {
		names = append(names, MethodSets[set]...)
	}
	return names
}
