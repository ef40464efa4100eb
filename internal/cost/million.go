package cost

import (
	"cmp"
	"slices"

	"postage/internal/verdict"
	"postage/record"
)

const (
	// DefaultCPUHour is about what the large clouds list in USD for a vCPU hour of a
	// general-purpose machine on demand.
	DefaultCPUHour = 0.04
	// HoursPerMonth is the length of a month in cloud bills.
	HoursPerMonth = 730
	// perMonth is how many million messages a month has, at 1,000 a second.
	perMonth = 1000.0 * 3600 * HoursPerMonth / 1e6
)

// Million is what a million messages cost in one way: the CPU time of both ends, and what is sent.
type Million struct {
	Contender  string
	CPUSeconds float64
	Wire       float64 // bytes
	USDMonth   float64 // the price of the CPU time of a month with 1,000 messages a second
}

// Millions are what a million messages cost in each way that was measured at both ends, cheapest
// first, by messages.
func Millions(stages []Stage, cases []*verdict.CaseResult) map[string][]Million {
	byName := map[string]*verdict.CaseResult{}
	for _, c := range cases {
		byName[c.Name] = c
	}
	found := map[string][]Million{}
	for _, stage := range stages {
		for _, c := range cases {
			if stage.Ends == nil || c.Stage() != stage.Name {
				continue
			}
			for _, r := range c.Ways() {
				ends := stage.Ends(r.Row)
				if ends == nil || byName[ends.Back] == nil {
					continue
				}
				there, ok1 := costOf(c, r)
				back, ok2 := costOf(byName[ends.Back], byName[ends.Back].Of(r.Row.Contender))
				size, ok3 := r.Metrics[record.EncodedBytes]
				if ok1 && ok2 && ok3 {
					seconds := (there + back) / 1e9 * 1e6
					found[ends.Message] = append(found[ends.Message],
						Million{Contender: r.Row.Contender, CPUSeconds: seconds, Wire: size * 1e6, USDMonth: perMonth * seconds / 3600 * DefaultCPUHour})
				}
			}
		}
	}
	for _, list := range found {
		slices.SortStableFunc(list, func(a, b Million) int { return cmp.Compare(a.CPUSeconds, b.CPUSeconds) })
	}
	return found
}

// costOf is the CPU time of an operation in ns, over a case's blocks.
func costOf(c *verdict.CaseResult, r *verdict.Result) (ns float64, ok bool) {
	if r == nil || r.NSOp == nil {
		return 0, false
	}
	var values []float64
	for _, block := range c.Record.BlocksOf(c.Name) {
		if s := block.Of(r.Row.Name); s != nil && s.CPUNS != nil {
			values = append(values, s.CostPerOp(r.Row.N))
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	return verdict.Located(values).Value, true
}
