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
	all := func(Key) bool { return true }
	per := [2][]float64{now.sums(all), old.sums(all)}
	if len(requests) == 2 {
		m.Unit = PerRequest
		for i := range per {
			per[i] = slices.Repeat([]float64{requests[i] / float64(len(per[i]))}, len(per[i]))
		}
	}
	keys := map[Key]bool{}
	for _, one := range slices.Concat(now.each, old.each) {
		for key := range one {
			keys[key] = true
		}
	}
	for key := range keys {
		m.Moves = append(m.Moves, m.moved(key, now, old, per, func(k Key) bool { return k == key }))
	}
	slices.SortFunc(m.Moves, func(a, b Move) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Moved.Value), math.Abs(a.Moved.Value)), cmp.Compare(a.String(), b.String()))
	})
	m.Total = m.moved(Key{other, "", "all"}, now, old, per, all)
	return m
}

// sums are what some keys take in each profile.
func (s *Summary) sums(of func(Key) bool) (all []float64) {
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

// moved is the difference of what some keys take, of what is in each profile. Its interval is of
// resampling whole profiles where there are several of both, else of counting samples.
func (m *Moves) moved(key Key, now, old *Summary, per [2][]float64, of func(Key) bool) Move {
	a, b := now.sums(of), old.sums(of)
	move := Move{Key: key, New: total(a) / total(per[0]), Old: total(b) / total(per[1])}
	value := move.New - move.Old
	move.Moved = verdict.Interval{Value: value}
	if len(a) < leastProfiles || len(b) < leastProfiles {
		variance := func(is float64, s *Summary, per []float64) float64 {
			sample := s.total / max(1, s.samples) / total(per)
			if m.Unit != PerRequest { // a share is of as many samples, whatever they are of
				return is * max(0, 1-is) * sample
			}
			return is * sample
		}
		half := 1.96 * math.Sqrt(variance(move.New, now, per[0])+variance(move.Old, old, per[1]))
		move.Moved.Low, move.Moved.High = value-half, value+half
		return move
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var drawn []float64
	for range 2000 {
		drawn = append(drawn, resampled(draw, a, per[0])-resampled(draw, b, per[1]))
	}
	slices.Sort(drawn)
	move.Moved.Low, move.Moved.High = drawn[len(drawn)/40], drawn[len(drawn)-1-len(drawn)/40]
	return move
}

// leastProfiles is how many of each side are resampled.
const leastProfiles = 5

// resampled is what profiles have of a whole, with some of them drawn in place of all.
func resampled(draw *rand.Rand, values, wholes []float64) float64 {
	sum, whole := 0.0, 0.0
	for range values {
		i := draw.IntN(len(values))
		sum, whole = sum+values[i], whole+wholes[i]
	}
	return sum / max(whole, math.SmallestNonzeroFloat64)
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
