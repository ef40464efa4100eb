// Package stage lists the suites of the five stages that a message passes, and of the whole way.
package stage

import (
	"postage/lab"
	"postage/stage/apply"
	"postage/stage/encode"
	"postage/stage/route"
	"postage/stage/seal"
	"postage/stage/send"
	"postage/stage/store"
)

// Suites returns the suites of all stages: the whole way first, then in the order in which a
// message passes them.
func Suites() []lab.Suite {
	stored, database := store.SuiteAndServer()
	sent := send.Suite()
	return []lab.Suite{
		route.Suite(encode.Orders(), database, stored, sent),
		encode.Suite(),
		seal.Suite(),
		sent,
		stored,
		apply.Suite(),
	}
}
