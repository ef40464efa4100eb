package report

import (
	"strings"
	"testing"

	"postage/cost"
)

// The answer names what is cheapest, and what takes the least CPU time where that is another;
// nothing, where what there is now was not measured.
func TestAnswer(t *testing.T) {
	now := cost.Million{Contender: "codec=a", CPUSeconds: 61, Wire: 5.1e9, USD: 0.46}
	small := cost.Million{Contender: "codec=b", CPUSeconds: 20, Wire: 1e9, USD: 0.09}
	fast := cost.Million{Contender: "codec=c", CPUSeconds: 9, Wire: 3.4e9, USD: 0.31}
	for _, test := range []struct {
		list []cost.Million
		now  string
		want []string
	}{
		{[]cost.Million{small, fast, now}, "codec=a", []string{
			"codec=b in place of codec=a saves 41 s of CPU time, 4.1 GB sent, and $0.37 a million messages.",
			"Least CPU time: codec=c in place of codec=a saves 52 s of CPU time, 1.7 GB sent, and $0.15 a million messages.",
		}},
		{[]cost.Million{now}, "codec=a", []string{"Nothing that was measured is cheaper than codec=a."}},
		{[]cost.Million{small}, "codec=a", []string{""}},
	} {
		if got := answer(test.list, test.now); got != strings.Join(test.want, "\n") {
			t.Errorf("%q", got)
		}
	}
}
