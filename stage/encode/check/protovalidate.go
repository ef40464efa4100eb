package check

import "buf.build/go/protovalidate"

// reflected is protovalidate, which reads the rules in a message's descriptor at run time and walks
// messages by reflection. It has Go code for the usual rules; when it had not, and still if it is
// told so, each of them is a CEL program.
func reflected[V any, P message[V]](native bool) library[V] {
	l := library[V]{name: "lib=protovalidate", module: "buf.build/go/protovalidate", accepts: []string{noDot}}
	if !native {
		l.name += "/rules=cel"
	}
	l.open = func() (checker[V], error) {
		options := []protovalidate.ValidatorOption{protovalidate.WithMessages(P(new(V))), protovalidate.WithDisableLazy()}
		if !native {
			options = append(options, protovalidate.WithDisableNativeRules())
		}
		v, err := protovalidate.New(options...)
		if err != nil {
			return checker[V]{}, err
		}
		return checker[V]{
			check: func(m *V) error { return v.Validate(P(m)) },
			field: func(err error) string {
				if e := errorAs[*protovalidate.ValidationError](err); e != nil && len(e.Violations) == 1 {
					return protovalidate.FieldPathString(e.Violations[0].Proto.GetField())
				}
				return ""
			},
		}, nil
	}
	return l
}
