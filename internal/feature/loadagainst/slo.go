package loadagainst

import (
	"context"
	"math/rand/v2"
	"time"

	"postage/load"
)

// A Capacity is the highest rate at which a side keeps the objectives, in requests a second; 0 if it
// keeps them at none. Missed says what it misses at the lowest rate at which it does not.
type Capacity struct {
	Rate   float64 `json:"rate"`
	Missed string  `json:"missed"`
	above  float64 // the lowest rate at which it did not keep them, 0 if none is known
}

// precise is how close a capacity is known: to a twentieth.
const precise = 0.05

// searchTurns is how many slices of each side decide, by majority, whether it keeps the objectives:
// one may have met a moment in which the machine was busy.
const searchTurns = 3

func (c *Capacity) known() bool {
	return c.above > 0 && (c.above-c.Rate <= precise*c.above || c.above <= 1)
}

// next is the rate that says most about the side.
func (c *Capacity) next(first float64) float64 {
	switch {
	case c.above == 0 && c.Rate == 0:
		return first
	case c.above == 0:
		return 2 * c.Rate
	case c.Rate == 0:
		return c.above / 2
	}
	return (c.above + c.Rate) / 2
}

// Search finds the capacity of both sides from a first rate on, in slices of
// the given length. Wherever a rate says something about
// both, they take turns at it.
func (s *Sides) Search(ctx context.Context, plan load.Plan, first float64, slice time.Duration, objectives []load.Objective, told func(side string, rate float64, missed string)) (found [2]Capacity, err error) {
	for {
		var rate float64
		for i := range found {
			if !found[i].known() {
				rate = found[i].next(first)
			}
		}
		if rate == 0 {
			return found, nil
		}
		var open []int
		for i, c := range found {
			if !c.known() && rate > c.Rate && (c.above == 0 || rate < c.above) {
				open = append(open, i)
			}
		}
		var missed [2][]string
		for range searchTurns {
			rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			for _, i := range open {
				why, err := s[i].try(ctx, plan, load.Constant{Rate: rate, For: slice}, objectives)
				if err != nil {
					return found, err
				}
				if why != "" {
					missed[i] = append(missed[i], why)
				}
			}
		}
		for _, i := range open {
			if why := missed[i]; len(why) > searchTurns/2 {
				found[i].above, found[i].Missed = rate, why[0]
				told(s[i].Name, rate, why[0])
			} else {
				found[i].Rate = rate
				told(s[i].Name, rate, "")
			}
		}
	}
}

func (s *Side) try(ctx context.Context, plan load.Plan, pacer load.Constant, objectives []load.Objective) (missed string, err error) {
	plan.Lines, plan.Pacer = s.Pool.Lines, pacer
	r, err := load.Run(ctx, plan)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	missed, _ = load.Missed(r, objectives)
	return missed, nil
}
