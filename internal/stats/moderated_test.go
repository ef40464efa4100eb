package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// By hand: 2, 3.5, 1 and 2.5 have the mean 2.25, the variance 3.25/3 and so the standard error
// 0.520416. Student's distribution has a closed form for 3 degrees of freedom, and 3.182446 for its
// quantile of 97.5%.
func TestModeratedByHand(t *testing.T) {
	s := moderated([]float64{2, 3.5, 1, 2.5}, 0.05)
	se := math.Sqrt(3.25 / 3 / 4)
	x := 2.25 / se / math.Sqrt(3)
	for _, each := range []struct {
		what      string
		got, want float64
	}{{"p", s.P, 1 - 2/math.Pi*(x/(1+x*x)+math.Atan(x))}, {"estimate", s.Value, 2.25}, {"low", s.Low, 2.25 - 3.182446*se}, {"high", s.High, 2.25 + 3.182446*se},
		{"seen", s.Seen, 3.182446 * se}} {
		if math.Abs(each.got-each.want) > 1e-6 {
			t.Errorf("%s = %v, want %v", each.what, each.got, each.want)
		}
	}
	if s := moderated([]float64{2}, 0.05); s.Value != 2 || s.P != 1 || !math.IsInf(s.Seen, 1) {
		t.Errorf("one value: %+v", s)
	}
	if s := moderated([]float64{0, 0, 0}, 0.05); s.P != 1 || s.High-s.Low > 1e-5 {
		t.Errorf("nothing: %+v", s)
	}
}

func moderated(x []float64, level float64) Shift {
	return Moderated([][]float64{x}, nil, level, level)[0]
}

// Of many rows with few groups, those whose variance is small by chance are not called changed more
// often than is asked for, and a change is found that Student's test alone misses.
func TestModeratedManyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	const runs, rows, groups, slower = 200, 100, 8, 0.05
	wrong, found, student := 0, 0, 0
	const level = 0.02 / rows
	for range runs {
		all := make([][]float64, rows)
		for i := range all {
			sd := 0.01 * math.Exp(0.3*rng.NormFloat64())
			for range groups {
				d := sd * rng.NormFloat64()
				if i == 0 {
					d += slower
				}
				all[i] = append(all[i], d)
			}
		}
		shifts := Moderated(all, nil, level, 0.02)
		for i, s := range shifts {
			if i > 0 && s.P <= level {
				wrong++
			}
		}
		if shifts[0].P <= level {
			found++
		}
		if moderated(all[0], level).P <= level {
			student++
		}
	}
	t.Logf("5%% found in %d of %d, by Student's test alone in %d; equal rows called changed in %d of %d", found, runs, student, wrong, runs*(rows-1))
	// 0.02% of 19,800 is 4.
	if found < runs*95/100 || student > found || wrong > 12 {
		t.Errorf("5%% found in %d of %d, equal rows called changed in %d", found, runs, wrong)
	}
}

// Intervals cover 0 in 95% of comparisons whatever the groups' own part, where taking all
// differences for independent misses in up to half of them; p-values are as rare as they say, far
// out too.
func TestMeansOfGroupsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	for _, groups := range []int{4, 8} {
		for _, part := range []float64{0, 0.5, 1, 3} {
			missed, ignored, rare := 0, 0, 0
			for range trials {
				means, all := make([]float64, groups), []float64{}
				for g := range means {
					own := part * rng.NormFloat64()
					for range 20 / groups {
						d := own + rng.NormFloat64()
						means[g] += d / float64(20/groups)
						all = append(all, d)
					}
				}
				s := moderated(means, 0.005)
				if s.Low > 0 || s.High < 0 {
					missed++
				}
				if s.P <= 0.005 {
					rare++
				}
				if p := Paired(all, 0.05); p.Low > 0 || p.High < 0 {
					ignored++
				}
			}
			t.Logf("%d groups, part %v: missed %.1f%%, p at most 0.005 in %.2f%%; all independent %.1f%%", groups, part,
				100*float64(missed)/trials, 100*float64(rare)/trials, 100*float64(ignored)/trials)
			// 2000 trials at 5% have a standard deviation of 0.5%, at 0.5% of 0.16%.
			if share := float64(missed) / trials; share < 0.03 || share > 0.07 {
				t.Errorf("%d groups, part %v: missed %.3f", groups, part, share)
			}
			if share := float64(rare) / trials; share > 0.0115 {
				t.Errorf("%d groups, part %v: p at most 0.005 in %.4f", groups, part, share)
			}
			if part == 3 && ignored < trials/10 {
				t.Errorf("%d groups: %d of %d missed without them", groups, ignored, trials)
			}
		}
	}
}
