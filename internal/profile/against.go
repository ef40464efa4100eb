package profile

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"postage/internal/verdict"
)

// Moves says what moved between two sets of profiles of a service, by operation.
type Moves struct {
	Version int `json:"version"`
	// Unit is [PerRequest], or "share of CPU time" where nobody said how many requests.
	Unit  string `json:"unit"`
	Moves []Move `json:"moves"` // the largest first
	Total Move   `json:"total"`
}

// PerRequest is the unit of moves where requests were counted.
const PerRequest = "ns a request"

// Move is an operation before and after.
type Move struct {
	Key
	Old   float64          `json:"old"`
	New   float64          `json:"new"`
	Moved verdict.Interval `json:"moved"`
}

// Compare says what moved from old to now. requests, if given, are those that now and old are of.
func Compare(now, old *Summary, requests []float64) *Moves {
	m := &Moves{Version: 1, Unit: "share of CPU time"}
	per := [2]float64{now.total, old.total}
	if len(requests) == 2 {
		m.Unit, per = PerRequest, [2]float64{requests[0], requests[1]}
	}
	keys := map[Key]bool{}
	for _, one := range slices.Concat(now.each, old.each) {
		for key := range one {
			keys[key] = true
		}
	}
	for key := range keys {
		m.Moves = append(m.Moves, moved(key, now, old, per, func(k Key) bool { return k == key }))
	}
	slices.SortFunc(m.Moves, func(a, b Move) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Moved.Value), math.Abs(a.Moved.Value)), cmp.Compare(a.String(), b.String()))
	})
	m.Total = moved(Key{other, "", "all"}, now, old, per, func(Key) bool { return true })
	return m
}

// moved is the difference of what some keys take. Its interval is of resampling whole profiles
// where there are several of both, else of counting samples.
func moved(key Key, now, old *Summary, per [2]float64, of func(Key) bool) Move {
	sums := func(s *Summary) (all []float64) {
		for _, one := range s.each {
			sum := 0.0
			for k, ns := range one {
				if of(k) {
					sum += ns
				}
			}
			all = append(all, sum)
		}
		return all
	}
	a, b := sums(now), sums(old)
	move := Move{Key: key, New: total(a) / per[0], Old: total(b) / per[1]}
	value := move.New - move.Old
	move.Moved = verdict.Interval{Value: value}
	if len(a) < leastProfiles || len(b) < leastProfiles {
		variance := func(sum float64, s *Summary, per float64) float64 {
			sample := s.total / max(1, s.samples)
			return sum * sample / per / per
		}
		half := 1.96 * math.Sqrt(variance(total(a), now, per[0])+variance(total(b), old, per[1]))
		move.Moved.Low, move.Moved.High = value-half, value+half
		return move
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var drawn []float64
	for range 2000 {
		drawn = append(drawn, resampled(draw, a)/per[0]-resampled(draw, b)/per[1])
	}
	slices.Sort(drawn)
	move.Moved.Low, move.Moved.High = drawn[len(drawn)/40], drawn[len(drawn)-1-len(drawn)/40]
	return move
}

// leastProfiles is how many of each side are resampled.
const leastProfiles = 5

func resampled(draw *rand.Rand, values []float64) (sum float64) {
	for range values {
		sum += values[draw.IntN(len(values))]
	}
	return sum
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
