package gen

// Options are the plug-in's parameters.
type Options struct {
	Hook    bool     // proto.Marshal and proto.Unmarshal use the generated functions
	Methods bool     // exported methods, too
	VT      bool     // vtprotobuf's names, too
	Reuse   bool     // UnmarshalReuse, too
	Tag     string   // the build tag of generated files
	Skip    []string // the full names of messages that are left to protobuf-go
}

// methods are the names of exported methods.
func (o *Options) methods() (names []string) {
	if o.Methods {
		names = append(names, "SizeOf", "MarshalAppend", "Unmarshal", "UnmarshalOwn", "UnmarshalAlias")
	}
	if o.Reuse {
		names = append(names, "UnmarshalReuse")
	}
	if o.VT {
		names = append(names, vtNames...)
	}
	return names
}
