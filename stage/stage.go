// Package stage lists the suites of the five stages that a message passes.
package stage

import (
	"postage/lab"
	"postage/stage/apply"
	"postage/stage/encode"
	"postage/stage/seal"
	"postage/stage/send"
	"postage/stage/store"
)

// Suites returns the suites of all stages in the order in which a message passes them.
func Suites() []lab.Suite {
	return []lab.Suite{
		encode.Suite(),
		seal.Suite(),
		send.Suite(),
		store.Suite(),
		apply.Suite(),
	}
}
