package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// WorthIt is the share of all CPU time below which a change is not worth it.
const WorthIt = 0.01

// Saving is what another contender would save of all CPU time.
type Saving struct {
	Contender string           `json:"contender"`
	Format    string           `json:"format"` // other than the site's, else ""
	Saves     verdict.Interval `json:"saves"`
	Cores     *float64         `json:"cores"`
	USDMonth  *float64         `json:"usd_month"`
	Messages  int              `json:"messages"` // how many were measured for the ratio
	From      string           `json:"from"`
}

// uncompressed is the contender that leaves out compression.
const uncompressed = "pack=none"

// byteSent is how many ns sending a byte takes at most. It was measured with a net/http server that
// writes pieces of 4 KB to loopback, plain and with TLS; a whole buffer takes 0.1 to 0.8.
func (s *Summary) byteSent() float64 {
	if slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Operation == "TLS" }) {
		return 2.1
	}
	return 1.6
}

// stream begins the contender that decodes from a reader, as json.NewDecoder does.
const stream = "from=stream/"

// alike begins the contender of a library that no row measures, but that works like the contender.
const alike = "~"

// Total is what a change saves in all places of an operation.
type Total struct {
	Key
	Places int `json:"places"`
	Saving
}

// Predict adds to each site what the contenders of the table would save, the best first:
//
//	saves = code × (1 − ratio of costs) + garbage × (1 − ratio of bytes) + what is sent
//
// The ratios are of the messages that the costs have with both contenders. If the bytes become
// fewer, what is sent is the site's part of reading or writing them × (1 − ratio of sizes). If they
// become more, it is negative: the most that the further bytes cost. The truth lies between nothing
// and all of it, so the value takes half. The value is the median over messages. Its interval is
// where one more message's value lies, or with one message its figures' interval, with the error of
// sampling. Without anyFormat only contenders count that keep the bytes' format.
func (s *Summary) Predict(table *Owners, costs *Costs, anyFormat bool, corePrice float64) {
	formats := table.formats()
	for i := range s.Sites {
		site := &s.Sites[i]
		measured, other := strings.CutPrefix(site.Now, alike)
		if measured != "" && !strings.HasPrefix(measured, unmeasured) {
			if !costs.have(measured) { // a record with no row of a stream has one of the whole text
				measured = strings.TrimPrefix(measured, stream)
			}
			for _, name := range slices.Sorted(maps.Keys(formats)) {
				if format := formats[name]; name != measured && (anyFormat || format == formats[measured] || name == uncompressed) {
					s.predict(site, costs, measured, name)
				}
			}
		}
		for j := range site.Savings {
			x := &site.Savings[j]
			s.price(x, corePrice)
			if f := formats[x.Contender]; f != formats[measured] {
				x.Format = f
			}
			if other {
				x.From += ", with " + measured + " for " + site.Library
			}
		}
		slices.SortStableFunc(site.Savings, bySaving)
	}
	s.everywhere(corePrice)
}

// Unmeasured is why nothing is predicted of the site, "" if something is or if no library is known
// to do its work.
func (s *Site) Unmeasured() string {
	why, unknown := strings.CutPrefix(s.Now, unmeasured)
	switch {
	case unknown:
		return strings.ReplaceAll(why, "_", " ")
	case s.Now != "" && len(s.Savings) == 0:
		return "of " + record.Short(strings.TrimPrefix(s.Now, alike)) + " and another library, too few messages were measured"
	}
	return ""
}

// OfStructs reports whether the site encodes or decodes a Go struct.
func (s *Site) OfStructs() bool {
	return s.Stage == "encode" && strings.Contains(s.Now, "codec=") && !strings.Contains(s.Now, intoAny) && !strings.Contains(s.Now, fromAny)
}

// Known reports whether the whole interval says that the change saves, or that it costs.
func (x *Saving) Known() bool { return x.Saves.Low > 0 || x.Saves.High < 0 }

// bySaving puts what surely saves before the others.
func bySaving(a, b Saving) int {
	switch saves := a.Saves.Low > 0; {
	case saves == (b.Saves.Low > 0):
		return cmp.Compare(b.Saves.Value, a.Saves.Value)
	case saves:
		return -1
	}
	return 1
}

// sending is the share of all CPU time that reads or writes what the site decodes or encodes.
func (s *Summary) sending(site *Site) float64 {
	does := map[string]string{"decode": "read", "encode": "write"}[site.Does]
	sends, all := 0.0, 0.0
	for i := range s.Parts {
		switch p := &s.Parts[i]; {
		case p.Stage == "send" && p.Does == does:
			sends += p.All()
		case p.Key == site.Key:
			all += p.Share.Value
		}
	}
	if all == 0 { // no CPU time, only bytes that it allocates
		return 0
	}
	return sends * site.Share.Value / all
}

// predict adds what one contender would save at a site, if the costs have both.
func (s *Summary) predict(site *Site, costs *Costs, measured, contender string) {
	code, garbage := site.Share.Value, 0.0
	if site.Garbage != nil {
		garbage = *site.Garbage
	}
	var saved, least, greatest []float64
	messages := map[string]bool{}
	within := 0.0
	for _, c := range costs.cases {
		if c.stage != site.Stage || c.does != "" && c.does != site.Does || !costs.sized(&c) {
			continue
		}
		now, ok1 := c.row(measured)
		then, ok2 := c.rows[contender]
		if !ok1 || !ok2 || now.cost <= 0 {
			continue
		}
		bytes, sent := 1.0, 0.0
		if now.bytes > 0 {
			bytes = then.bytes / now.bytes
		}
		base := code*(1-then.cost/now.cost) + garbage*(1-bytes)
		switch more := then.size - now.size; {
		case now.size == 0 || then.size == 0:
		case more > 0:
			sent = -code / now.cost * more * s.byteSent()
		default:
			sent = s.sending(site) * -more / now.size
		}
		messages[c.of()] = true
		saved = append(saved, base+sent/2)
		least, greatest = append(least, min(base, base+sent)), append(greatest, max(base, base+sent))
		within = (code + garbage - base) * math.Hypot(now.within, then.within)
	}
	if len(messages) < max(1, costs.least) {
		return
	}
	x := Saving{Contender: contender, Messages: len(messages), From: costs.From}
	value := stats.Median(saved)
	low, high := value-slices.Min(least), slices.Max(greatest)-value
	if len(saved) == 1 {
		low, high = math.Hypot(low, within), math.Hypot(high, within)
	} else {
		lowest, _ := next(least)
		_, highest := next(greatest)
		low, high = value-lowest, highest-value
	}
	sampling := 0.0
	if code > 0 {
		sampling = value * (site.Share.High - site.Share.Low) / 2 / code
	}
	x.Saves = verdict.Interval{Value: value, Low: value - math.Hypot(low, sampling), High: value + math.Hypot(high, sampling)}
	x.Saves.High = max(value, min(x.Saves.High, code+garbage+s.sending(site)))
	site.Savings = append(site.Savings, x)
}

// next returns where one more value lies with a probability of 95%, by Student's distribution. It
// needs two values.
func next(values []float64) (low, high float64) {
	means, _ := stats.Moderated([]stats.Grouped{stats.Ungrouped(values)}, 0.05, 0.05)
	mean := means[0]
	half := (mean.High - mean.Low) / 2 * math.Sqrt(float64(len(values)+1))
	return mean.Value - half, mean.Value + half
}

const (
	// DefaultCorePrice is about what the large clouds list in USD for a vCPU hour of a
	// general-purpose machine on demand.
	DefaultCorePrice = 0.04
	// hoursPerMonth is the length of a month in cloud bills.
	hoursPerMonth = 730
)

// price adds how many cores a saving is, and what they cost a month.
func (s *Summary) price(x *Saving, corePrice float64) {
	if s.Cores != nil {
		x.Cores = new(x.Saves.Value * *s.Cores)
		x.USDMonth = new(*x.Cores * corePrice * hoursPerMonth)
	}
}

// everywhere adds up the savings of operations that several sites do. Their ratios are the same, so
// their intervals add up too.
func (s *Summary) everywhere(corePrice float64) {
	for i := range s.Sites {
		for _, x := range s.Sites[i].Savings {
			at := slices.IndexFunc(s.Everywhere, func(t Total) bool { return t.Key == s.Sites[i].Key && t.Contender == x.Contender && t.From == x.From })
			if at < 0 {
				s.Everywhere = append(s.Everywhere, Total{s.Sites[i].Key, 1, x})
				continue
			}
			t := &s.Everywhere[at]
			t.Places++
			t.Saves.Value, t.Saves.Low, t.Saves.High = t.Saves.Value+x.Saves.Value, t.Saves.Low+x.Saves.Low, t.Saves.High+x.Saves.High
		}
	}
	for i := range s.Everywhere {
		s.price(&s.Everywhere[i].Saving, corePrice)
	}
	s.Everywhere = slices.DeleteFunc(s.Everywhere, func(t Total) bool { return t.Places < 2 })
	slices.SortStableFunc(s.Everywhere, func(a, b Total) int { return bySaving(a.Saving, b.Saving) })
}
