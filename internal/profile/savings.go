package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/cost"
	"postage/internal/stats"
	"postage/internal/verdict"
)

// WorthIt is the share of all CPU time below which a change is not worth it.
const WorthIt = 0.01

// Saving is what another contender would save of all CPU time.
type Saving struct {
	Contender string           `json:"contender"`
	Format    string           `json:"format"` // other than the site's, else ""
	Saves     verdict.Interval `json:"saves"`
	AtMost    *float64         `json:"at_most"` // with no work at all but the floor's
	Cores     *float64         `json:"cores"`
	USDMonth  *float64         `json:"usd_month"`
	Messages  int              `json:"messages"` // that the ratio is of
	From      string           `json:"from"`
}

// alike begins the contender of a library that is not measured, but works like the contender.
const alike = "~"

// Predict adds to each site what the contenders of the table would save, the best first:
//
//	saves = code × (1 − ratio of code) + garbage × (1 − ratio of bytes)
//
// The ratios are of the first of the costs that has the library and another one. The value is the
// median over messages. Its interval is their range, or of one message that of its figures, with
// the error of sampling. Without anyFormat only what keeps the bytes' format counts.
func (s *Summary) Predict(table *Owners, from []*Costs, anyFormat bool, corePrice float64) {
	formats := table.formats()
	for i := range s.Sites {
		site := &s.Sites[i]
		measured, other := strings.CutPrefix(site.Now, alike)
		for _, costs := range from {
			if measured == "" || len(site.Savings) > 0 {
				break
			}
			for _, name := range slices.Sorted(maps.Keys(formats)) {
				if format := formats[name]; name != measured && (anyFormat || format == formats[measured] || name == "pack=none") {
					s.predict(site, costs, measured, name, corePrice)
				}
			}
		}
		for j := range site.Savings {
			if f := formats[site.Savings[j].Contender]; f != formats[measured] {
				site.Savings[j].Format = cmp.Or(f, "plain")
			}
			if other {
				site.Savings[j].From += ", with " + measured + " for " + site.Library
			}
		}
		slices.SortStableFunc(site.Savings, func(a, b Saving) int { return cmp.Compare(b.Saves.Value, a.Saves.Value) })
	}
}

// predict adds what one contender would save at a site, if the costs have both.
func (s *Summary) predict(site *Site, costs *Costs, measured, contender string, corePrice float64) {
	code, garbage := site.Share.Value, 0.0
	if site.Garbage != nil {
		garbage = *site.Garbage
	}
	var saved, most []float64
	within := 0.0
	for _, c := range costs.cases {
		if c.stage != site.Stage || c.does != "" && c.does != site.Does {
			continue
		}
		now, ok1 := c.row(measured)
		then, ok2 := c.rows[contender]
		if !ok1 || !ok2 || now.code <= 0 {
			continue
		}
		by := func(x figure) float64 {
			bytes := 1.0
			if now.bytes > 0 {
				bytes = x.bytes / now.bytes
			}
			return code*(1-x.code/now.code) + garbage*(1-bytes)
		}
		saved = append(saved, by(then))
		within = (code + garbage - by(then)) * math.Hypot(now.within, then.within)
		if floor, ok := c.rows[c.floor]; ok {
			most = append(most, by(floor))
		}
	}
	if len(saved) == 0 {
		return
	}
	x := Saving{Contender: contender, Messages: len(saved), From: costs.From}
	value := stats.Median(saved)
	low, high := value-slices.Min(saved), slices.Max(saved)-value
	if len(saved) == 1 {
		low, high = within, within
	}
	sampling := 0.0
	if code > 0 {
		sampling = value * (site.Share.High - site.Share.Low) / 2 / code
	}
	x.Saves = verdict.Interval{Value: value, Low: value - math.Hypot(low, sampling), High: min(code+garbage, value+math.Hypot(high, sampling))}
	if len(most) > 0 {
		floor := stats.Median(most)
		x.AtMost = &floor
	}
	if s.Cores != nil {
		cores := value * *s.Cores
		usd := cores * corePrice * cost.HoursPerMonth
		x.Cores, x.USDMonth = &cores, &usd
	}
	site.Savings = append(site.Savings, x)
}
