package encode

import (
	"testing"

	"postage/lab/benchtest"
)

func BenchmarkEncode(b *testing.B) { benchtest.Run(b, Suite().Cases) }
