package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
)

// WorthIt is the share of all CPU time below which a change is not worth it.
const WorthIt = 0.01

// Saving is what another contender would save of all CPU time.
type Saving struct {
	Contender string           `json:"contender"`
	Format    string           `json:"format"` // other than the site's, else ""
	Saves     verdict.Interval `json:"saves"`
	Cores     *float64         `json:"cores"`
}

// Predict adds to each site what the record's contenders would save, the best first:
//
//	saves = code × (1 − ratio of costs) + garbage × (1 − ratio of bytes) + sending × (1 − ratio of sizes)
//
// Sending is the site's part of reading or writing bytes. It costs between nothing and in proportion
// to the size, so the value takes half. The interval has the error of the record's figures, of
// sampling, of what sending costs, and of what is otherwise in a service. Without anyFormat only
// contenders count that keep the bytes' format. A site whose message is known to be another than the
// record's has none.
func (s *Summary) Predict(table *Owners, costs *Costs, anyFormat bool) {
	formats := table.formats()
	s.from = costs.from
	for i := range s.Sites {
		site := &s.Sites[i]
		rows := costs.rows[site.Does]
		now, measured := rows[site.Now]
		why, unknown := strings.CutPrefix(site.Now, unmeasured)
		switch {
		case unknown:
			site.Unpredicted = strings.ReplaceAll(why, "_", " ")
			continue
		case !measured:
			continue
		case site.Message != "" && !strings.EqualFold(site.Message, costs.message):
			site.Unpredicted = "the record is of " + costs.message
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			format := formats[name]
			if name == site.Now || format == "" || format != formats[site.Now] && !anyFormat {
				continue
			}
			x := Saving{Contender: name, Saves: s.saves(site, now, rows[name])}
			if format != formats[site.Now] {
				x.Format = format
			}
			if s.Cores != nil {
				x.Cores = new(x.Saves.Value * *s.Cores)
			}
			site.Savings = append(site.Savings, x)
		}
		slices.SortStableFunc(site.Savings, bySaving)
	}
}

// check is the command that measures the site's message with other libraries, "" if none can. What
// is declared in package main no other program can use.
func (s *Site) check() string {
	now, measured := strings.CutPrefix(s.Now, "codec=")
	switch {
	case !measured || s.Package == "":
		return ""
	case s.Message != "":
		return "postage bring FILE.proto --message " + s.Message + " --sample FILE"
	case s.Package == "main":
		return "postage bring FILE.ndjson --now " + strings.TrimSuffix(now, "/experiment=jsonv2")
	}
	return "postage bring " + s.Package + " --type TYPE --sample FILE"
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

// inService is the part of a place by which a change saves more or less in a service than in a loop:
// measured in services (docs/profile.md).
const inService = 0.1

// saves is what another contender saves at a site.
func (s *Summary) saves(site *Site, now, other figure) verdict.Interval {
	code, garbage, bytes, sent := site.Share.Value, 0.0, 1.0, 0.0
	if site.Garbage != nil {
		garbage = *site.Garbage
	}
	if now.bytes > 0 {
		bytes = other.bytes / now.bytes
	}
	if now.size > 0 && other.size > 0 {
		sent = s.sending(site) * (1 - other.size/now.size) / 2
	}
	value := code*(1-other.cost/now.cost) + garbage*(1-bytes) + sent
	sampling := 0.0
	if code > 0 {
		sampling = (value - sent) * (site.Share.High - site.Share.Low) / 2 / code
	}
	figures := code * other.cost / now.cost * math.Hypot(now.margin, other.margin)
	margin := math.Hypot(math.Hypot(sent, inService*(code+garbage)), math.Hypot(sampling, figures))
	return verdict.Interval{Value: value, Low: value - margin, High: value + margin}
}
