package apply

import (
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/lab/benchtest"
)

func BenchmarkApply(b *testing.B) {
	cases := slices.DeleteFunc(everyCase(testServer()), func(c lab.Case) bool {
		return c.Service != nil && (shared == nil || shared.Serves(&c, &c.Contenders[0]) != nil || ofOtherServer(c.Name))
	})
	if shared == nil {
		b.Logf("what needs a server is left out: %s is not built", testServer())
	}
	benchtest.Run(b, cases)
}

// ofOtherServer reports whether a case needs a server that the tests do not start.
func ofOtherServer(name string) bool {
	return strings.Contains(name, "/fsync=on/")
}
