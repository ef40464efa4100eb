package seal

import (
	"testing"

	"postage/lab/benchtest"
)

func BenchmarkSeal(b *testing.B) { benchtest.Run(b, Suite().Made(nil)) }
