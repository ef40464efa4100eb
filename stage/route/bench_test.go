package route

import (
	"testing"

	"postage/lab/benchtest"
)

func BenchmarkRoute(b *testing.B) { benchtest.Run(b, suite().Made(nil)) }
