package cost

import (
	"cmp"
	"slices"

	"postage/internal/verdict"
)

// Million is what a million messages cost in one way: there and back, the CPU time of both ends and
// what is sent.
type Million struct {
	Contender  string
	CPUSeconds float64
	Allocated  float64 // bytes
	Wire       float64 // bytes
	USD        float64 // at the default prices
}

// Millions are what a million messages cost in each way that a stage declares with both ends,
// cheapest first, by messages. Ways that were not measured there and back are left out.
func Millions(stages []Stage, cases []*verdict.CaseResult) map[string][]Million {
	byName := map[string]*verdict.CaseResult{}
	for _, c := range cases {
		byName[c.Name] = c
	}
	found := map[string][]Million{}
	for _, stage := range stages {
		if stage.Cost == nil {
			continue
		}
		for _, c := range cases {
			if c.Stage() != stage.Name {
				continue
			}
			for _, r := range c.Ways() {
				op := stage.Cost.Of(r.Row)
				var o Option
				if op == nil || op.Beside == nil || o.fill(c, r, op, byName) != "" {
					continue
				}
				m := Million{Contender: r.Row.Contender, Wire: o.Bytes * 1e6}
				for _, part := range o.Parts {
					m.CPUSeconds += part.Value / 1e9 * 1e6
				}
				for _, end := range []*verdict.Result{r, byName[op.Beside.Case].Of(r.Row.Contender)} {
					if end.BytesOp != nil {
						m.Allocated += float64(*end.BytesOp) * 1e6
					}
				}
				m.USD = m.CPUSeconds/3600*DefaultCPUHour + m.Wire/1e9*DefaultGB
				found[op.Message] = append(found[op.Message], m)
			}
		}
	}
	for _, list := range found {
		slices.SortStableFunc(list, func(a, b Million) int {
			return cmp.Or(cmp.Compare(a.USD, b.USD), cmp.Compare(a.CPUSeconds, b.CPUSeconds))
		})
	}
	return found
}
