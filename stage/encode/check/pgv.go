package check

import "strings"

// generated is protoc-gen-validate, which makes a method of a message's rules. Its e-mail addresses
// may have a name before them, and NaN is in every range.
func generated[V any, P interface {
	*V
	Validate() error
}]() library[V] {
	l := library[V]{name: "lib=pgv", module: "github.com/envoyproxy/protoc-gen-validate"}
	l.accepts = []string{afterName, noDot, nan}
	l.open = func() (checker[V], error) {
		return checker[V]{
			check: func(m *V) error { return P(m).Validate() },
			field: func(err error) string {
				var path []string
				for err != nil {
					at, ok := err.(interface {
						Field() string
						Cause() error
					})
					if !ok {
						break
					}
					path, err = append(path, at.Field()), at.Cause()
				}
				return strings.Join(path, ".")
			},
		}, nil
	}
	return l
}
