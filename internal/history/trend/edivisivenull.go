package trend

import "math"

// chance is the distribution of the greatest energy distance (see energyScan.best) of that many
// values in random order: it is above q05 in 5% of orders, and above q > q05 in
// 5%·exp(-slope·(q-q05)) of them or less.
//
// The quantiles are those of 400,000 random orders (of fewer beyond 64 values: some 2,300
// of 8,192), the slopes the least that were seen down to one order in 1,000. For many
// values the slope is π²/4, that of a sum of squares of normal variables weighted by
// 2/(k²π²), which the distance then is at each division. The test draws the orders anew.
var chance = []struct {
	values     int
	q05, slope float64
}{
	{10, 0.960, 2.95}, {12, 1.194, 2.95}, {16, 1.372, 3.00}, {20, 1.486, 3.00}, {24, 1.551, 2.85}, {32, 1.650, 2.80},
	{48, 1.756, 2.70}, {64, 1.822, 2.60}, {128, 1.961, 2.55}, {256, 2.060, math.Pi * math.Pi / 4}, {512, 2.150, math.Pi * math.Pi / 4},
	{1024, 2.235, math.Pi * math.Pi / 4}, {2048, 2.315, math.Pi * math.Pi / 4}, {4096, 2.395, math.Pi * math.Pi / 4}, {8192, 2.475, math.Pi * math.Pi / 4},
}

// significance is the logarithm of the p-value of a division of so many values after
// the first at: of the probability that some division of them in random order has an
// energy distance of q or more. Where that is above 5% it is not exact.
func significance(q float64, values, at int) float64 {
	i := 1
	for i < len(chance)-1 && chance[i].values < values {
		i++
	}
	a, b := chance[i-1], chance[i]
	// Linear in the logarithm of the number, and so beyond the table.
	share := math.Log(float64(values)/float64(a.values)) / math.Log(float64(b.values)/float64(a.values))
	q05 := a.q05 + share*(b.q05-a.q05)
	slope := a.slope + min(share, 1)*(b.slope-a.slope)
	return min(0, max(math.Log(0.05)-slope*(q-q05), leastLogP(values, at)))
}

// leastLogP is the logarithm of the probability that random order puts the smallest
// values all before a division or all after it: no division at that place can mean more.
func leastLogP(values, at int) float64 {
	logGamma := func(n int) float64 {
		v, _ := math.Lgamma(float64(n + 1))
		return v
	}
	return math.Log(2) + logGamma(at) + logGamma(values-at) - logGamma(values)
}
