package encode

import (
	"testing"

	"postage/lab"
	"postage/stage/encode/internal/plain"
)

func (in *instance[M, V]) originals() []M { return in.run.originals }

// Each row of the page's validation sees a change to any field.
func TestValidationSeesEachField(t *testing.T) {
	for name, change := range map[string]func(m *plain.Benchmark){
		"text":         func(m *plain.Benchmark) { m.Message += "." },
		"bytes":        func(m *plain.Benchmark) { m.Embedded.EmbeddedData = nil },
		"map":          func(m *plain.Benchmark) { m.EmbeddedMap.BuiltMap = map[string]float64{"Hello, World!": 1} },
		"text of enum": func(m *plain.Benchmark) { m.EnumMessage.Message = "" },
		"enum":         func(m *plain.Benchmark) { m.EnumMessage.Embedded++ },
		"parts":        func(m *plain.Benchmark) { m.Repeated = m.Repeated[1:] },
		"a part":       func(m *plain.Benchmark) { m.Repeated[3].EmbeddedData = []byte("Hello") },
	} {
		c := validateCase(message[plain.Benchmark]{name: "benchmark", draw: drawBenchmark, count: 1})
		for _, row := range c.Contenders {
			in, err := row.Open(t.Context(), lab.Env{})
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Run(1); err != nil {
				t.Errorf("%s: %v", row.Name, err)
			}
			change(&in.(interface{ originals() []plain.Benchmark }).originals()[0])
			if err := in.Run(1); err == nil {
				t.Errorf("%s: a change of %s is not seen", row.Name, name)
			}
		}
	}
}
