package loadagainst

import (
	"context"
	"errors"
	"sync"
	"time"

	"postage/load"
)

// A Capacity is the highest rate at which a side keeps the objectives, in requests a second; 0 if it
// keeps them at none. Missed says what it misses at a higher rate.
type Capacity struct {
	Rate   float64 `json:"rate"`
	Missed string  `json:"missed"`
}

// Search searches for the capacity of both sides at the same time, each as load.Search does. They
// take turns of as long as the plan lasts. told is called after each turn.
func (s *Sides) Search(ctx context.Context, plan load.Plan, objectives []load.Objective, told func(side string, t load.Try)) (found [2]Capacity, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn := make(chan struct{}, 1)
	plan.Ready = func(ctx context.Context) (time.Time, error) {
		select {
		case turn <- struct{}{}:
			return time.Now().Add(time.Millisecond), nil // the first request is due after the run has begun
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
	var errs [2]error
	var group sync.WaitGroup
	for i := range s {
		side := &s[i]
		group.Go(func() {
			plan := plan
			plan.Lines = side.Pool.Lines
			best, limit, err := load.Search(ctx, plan, objectives, func(t load.Try) {
				told(side.Name, t)
				<-turn
			})
			found[i].Missed = limit.Missed
			if best != nil {
				found[i].Rate = best.Rate
			}
			if errs[i] = err; err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	return found, errors.Join(errs[0], errs[1], context.Cause(ctx))
}
