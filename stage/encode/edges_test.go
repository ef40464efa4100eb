package encode

import (
	"strings"
	"testing"

	"postage/stage/encode/internal/plain"
)

func TestProofFailsAWrongDeclaration(t *testing.T) {
	edges := orderMessage()
	edges.edges, edges.text = orderEdges, orderText
	for _, test := range []struct {
		name  string
		loses string
		utf8  string
		want  string
	}{
		{"right", "NaN", "replaced", ""},
		{"says nothing of NaN", "", "replaced", "declared to lose nothing, but loses NaN"},
		{"says too much", "NaN, -0", "replaced", "but loses NaN"},
		{"says text is checked", "NaN", "error", `declared "error", but is "replaced"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := honest()
			c.loses, c.utf8 = test.loses, test.utf8
			in, err := newInstance[plain.Order, plain.Order](c, edges, opDecode, 1)
			if err != nil {
				t.Fatal(err)
			}
			err = in.Prove(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("proof says %v, want %q", err, test.want)
			}
		})
	}
}
