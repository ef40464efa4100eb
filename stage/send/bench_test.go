package send

import (
	"testing"

	"postage/lab/benchtest"
)

func BenchmarkSend(b *testing.B) { benchtest.Run(b, Suite().Made(nil)) }
