package store

import (
	"testing"

	"postage/lab/benchtest"
)

func BenchmarkStore(b *testing.B) {
	cases := Suite().Made(nil)
	if noServer != nil {
		b.Logf("peer=postgres is left out: %v", noServer)
		cases = withoutServer(cases)
	}
	benchtest.Run(b, cases)
}
