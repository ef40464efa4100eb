package loadagainst

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"postage/load"
)

// A Capacity is the highest rate at which a side keeps the objectives, in requests a second; 0 if it
// keeps them at none. Missed says what it misses at a higher rate.
type Capacity struct {
	Rate   float64 `json:"rate"`
	Missed string  `json:"missed"`
}

// Search searches for the capacity of both sides as load.Search does: one try of each in turn, as
// long as the plan lasts. told is called after each try.
func (s *Sides) Search(ctx context.Context, plan load.Plan, objectives []load.Objective, told func(side string, t load.Try)) (found [2]Capacity, err error) {
	both, stop := context.WithCancel(ctx)
	defer stop()
	var next [2]func() (load.Try, bool)
	for i := range s {
		next[i], _ = iter.Pull(func(yield func(load.Try) bool) {
			plan := plan
			plan.Lines = s[i].pool.Lines
			best, limit, failed := load.Search(both, plan, objectives, func(t load.Try) { yield(t) })
			found[i].Missed = limit.Missed
			if best != nil {
				found[i].Rate = best.Rate
			}
			if failed != nil {
				err = errors.Join(err, failed)
				stop()
			}
		})
	}
	for searching := true; searching; {
		searching = false
		for i := range s {
			if t, more := next[i](); more {
				told(s[i].Name, t)
				searching = true
			}
		}
	}
	return found, cmp.Or(err, ctx.Err())
}
