package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"postage/internal/stats"
	"postage/internal/verdict"
)

// Summary says where a service's CPU time goes. Shares are of all of it: 0.1 is 10%. Its JSON is a
// stable interface (docs/json.md).
type Summary struct {
	Version int `json:"version"`
	Profiled
	Shares
	Parts     []Part `json:"parts"`
	Sites     []Site `json:"sites"`
	Libraries []Part `json:"libraries"`

	counted
	from string // the record that savings are by, "" for none
}

// Profiled says how much was profiled.
type Profiled struct {
	CPUSeconds float64 `json:"cpu_s"`
	// Cores is how many cores were in use, over all profiles. It is nil if the profiles do not say
	// how long they took.
	Cores    *float64 `json:"cores"`
	Samples  int64    `json:"samples"`
	Profiles int      `json:"profiles"`
	// Allocated is how many bytes the profiles of allocations have, nil without such a profile.
	Allocated *float64 `json:"allocated_bytes"`
}

// Shares says how all CPU time is divided.
type Shares struct {
	Messages verdict.Interval `json:"messages"`
	// Garbage is the share of collections. MessagesGarbage is the part of it that messages cause, nil
	// without a profile of allocations.
	Garbage         verdict.Interval `json:"garbage"`
	MessagesGarbage *float64         `json:"garbage_of_messages"`
	Own             verdict.Interval `json:"own_code"`
	Others          verdict.Interval `json:"other_libraries"`
	Runtime         verdict.Interval `json:"runtime"`
	Unknown         verdict.Interval `json:"not_attributed"`
}

// counted is what intervals are made of: ns of CPU time, and samples.
type counted struct{ total, samples float64 }

// Key names an operation.
type Key struct {
	Stage     string `json:"stage"`
	Does      string `json:"does"` // "decode", "encode", "read", "write" or ""
	Operation string `json:"operation"`
}

// String is the key for a reader: "decode JSON".
func (k Key) String() string { return strings.TrimSpace(k.Does + " " + k.Operation) }

// Part is an operation with the share of its code. Garbage is the share of collecting what it
// allocates, nil if that is not known.
type Part struct {
	Key
	Share   verdict.Interval `json:"share"`
	Garbage *float64         `json:"garbage"`
}

// Site is a place in the user's code that has a library do an operation.
type Site struct {
	Part
	Library  string `json:"library"`
	Function string `json:"function"` // the user's, "" if none calls the library
	Package  string `json:"package"`
	Message  string `json:"message"` // its type, where generated code shows it
	// Now is the contender that measures the library, "" if there is none.
	Now     string   `json:"contender"`
	Savings []Saving `json:"savings"`
	// Unpredicted is why nothing is predicted of the place, where a record measures what it does.
	Unpredicted string `json:"unpredicted"`
	// Check is the command that measures its message with other libraries, "" if none can.
	Check string `json:"check"`
}

// sums adds up a place's samples: ns, the part of them in assists, samples and bytes.
type sums struct{ cpu, assist, samples, bytes float64 }

// Summarize adds up profiles of one service: of CPU time, at least one, and of allocations.
func Summarize(table *Owners, sources []*Source) (*Summary, error) {
	a := &attributor{table: table, others: map[string]*Owner{}}
	places := map[place]*sums{}
	s := &Summary{Version: 2}
	bytes, cores, lasting := 0.0, 0.0, true
	for _, source := range sources {
		a.frames = map[*profile.Function]*frame{}
		if source.Kind == Allocations {
			for _, sample := range source.pprof.Sample {
				p, _ := a.place(a.stack(sample))
				held(places, p).bytes += positive(sample.Value[source.value])
				bytes += positive(sample.Value[source.value])
			}
			continue
		}
		before := s.total
		for _, sample := range source.pprof.Sample {
			p, assist := a.place(a.stack(sample))
			to, ns, n := held(places, p), positive(sample.Value[source.value])*source.unit, max(0, source.samples(sample))
			to.cpu, to.samples = to.cpu+ns, to.samples+n
			if assist {
				to.assist += ns
			}
			s.total, s.samples = s.total+ns, s.samples+n
		}
		s.Profiles++
		lasting = lasting && source.pprof.DurationNanos > 0
		cores += (s.total - before) / float64(max(1, source.pprof.DurationNanos))
	}
	if s.Profiles == 0 && len(sources) > 0 {
		return nil, fmt.Errorf("%s: of allocations alone: want a profile of CPU time too, such as /debug/pprof/profile", sources[0].Name)
	} else if s.total == 0 {
		return nil, errors.New("there are no samples of CPU time: profile for longer, or under load")
	}
	s.Samples, s.CPUSeconds = int64(s.samples), s.total/1e9
	if lasting {
		s.Cores = &cores
	}
	if bytes > 0 {
		s.Allocated = &bytes
	}
	s.add(places, bytes)
	return s, nil
}

// positive is a sample's value. It may be below 0 in a difference of profiles.
func positive(v int64) float64 { return float64(max(0, v)) }

// key is the operation of an owned place.
func (p *place) key() Key {
	name, _ := strings.CutSuffix(p.owner.Operation, "*")
	return Key{p.owner.Stage, p.does, strings.ReplaceAll(name, "_", " ")}
}

// add makes the summary of the places.
func (s *Summary) add(places map[place]*sums, bytes float64) {
	background := 0.0
	for p, x := range places {
		if p.kind == collector {
			background += x.cpu
		}
	}
	now := contenders(places)
	var messages, others sums
	var by [unknown + 1]sums // what belongs to no operation, by kind
	garbage, caused := &by[collector], 0.0
	parts, sites := map[Key]*sums{}, map[place]*sums{}
	for p, x := range places {
		sum := &by[p.kind]
		switch {
		case p.kind == owned && p.owner.Message():
			sum = &messages
		case p.kind == owned:
			sum = &others
		}
		code := sums{x.cpu - x.assist, x.assist, x.samples * (1 - x.assist/max(x.cpu, 1)), x.bytes}
		garbage.plus(sums{cpu: x.assist, samples: x.samples - code.samples})
		if bytes > 0 {
			code.assist += background * x.bytes / bytes
		}
		sum.plus(code)
		if p.kind != owned {
			continue
		}
		if sum == &messages {
			caused += code.assist
		}
		p.now = now[p.bare()]
		held(parts, p.key()).plus(code)
		held(sites, p).plus(code)
	}
	s.Messages, s.Garbage, s.Own, s.Others = s.share(messages), s.share(*garbage), s.share(by[own]), s.share(others)
	s.Runtime, s.Unknown = s.share(by[scheduler]), s.share(by[unknown])
	if bytes > 0 && garbage.cpu > 0 {
		s.MessagesGarbage = new(caused / garbage.cpu)
	}
	s.list(parts, sites)
}

// bare is the place for any contender.
func (p place) bare() place {
	p.now = ""
	return p
}

// contenders finds the contender that takes most of each place's time: the rest prepares for it, as
// finding where the input ends does. If no row measures a quarter of the time, it is the reason.
func contenders(places map[place]*sums) map[place]string {
	now, most, all := map[place]string{}, map[place]float64{}, map[place]float64{}
	for p, x := range places {
		all[p.bare()] += x.cpu
	}
	for p, x := range places {
		q, cpu := p.bare(), x.cpu
		if strings.HasPrefix(p.now, unmeasured) && 4*cpu >= all[q] {
			cpu = math.Inf(1)
		}
		if cpu > most[q] || cpu == most[q] && p.now > now[q] {
			now[q], most[q] = p.now, cpu
		}
	}
	return now
}

// list lists what was added up, the largest first.
func (s *Summary) list(parts map[Key]*sums, sites map[place]*sums) {
	for key, x := range parts {
		if key.Stage == other {
			s.Libraries = append(s.Libraries, s.part(key, x))
		} else {
			s.Parts = append(s.Parts, s.part(key, x))
		}
	}
	for p, x := range sites {
		site := Site{s.part(p.key(), x), p.owner.Path, p.site, p.sitePkg, p.typ, p.now, nil, "", ""}
		site.Check = site.check()
		if site.Library[0] == '.' {
			site.Library = "generated code"
		}
		if site.Stage != other && site.All() > 0 {
			s.Sites = append(s.Sites, site)
		}
	}
	slices.SortFunc(s.Parts, bySize)
	slices.SortFunc(s.Libraries, bySize)
	slices.SortFunc(s.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.All(), a.All()), cmp.Compare(a.Function, b.Function), bySize(a.Part, b.Part), cmp.Compare(a.Library, b.Library))
	})
}

func held[K comparable](all map[K]*sums, key K) *sums {
	if all[key] == nil {
		all[key] = &sums{}
	}
	return all[key]
}

func bySize(a, b Part) int {
	return cmp.Or(cmp.Compare(b.Share.Value, a.Share.Value), cmp.Compare(a.String(), b.String()))
}

// All is the share of the part's code and its garbage.
func (p *Part) All() float64 {
	if p.Garbage == nil {
		return p.Share.Value
	}
	return p.Share.Value + *p.Garbage
}

func (s *Summary) part(key Key, x *sums) Part {
	part := Part{Key: key, Share: s.share(*x)}
	if s.Allocated != nil {
		part.Garbage = new(x.assist / s.total)
	}
	return part
}

func (x *sums) plus(y sums) {
	x.cpu, x.assist, x.samples, x.bytes = x.cpu+y.cpu, x.assist+y.assist, x.samples+y.samples, x.bytes+y.bytes
}

// mostCounted is how many samples an interval counts at most: with more it is too narrow to see.
const mostCounted = 1e6

// share is the samples' share of all CPU time, with the interval that sampling leaves open.
func (s *Summary) share(x sums) verdict.Interval {
	n, k := s.samples, x.samples
	if n > mostCounted {
		n, k = mostCounted, k*mostCounted/n
	}
	value := x.cpu / s.total
	low, high := stats.ClopperPearson(int(math.Round(min(k, n))), int(math.Round(n)), 0.95)
	if k > 0 && n > 0 { // samples may weigh differently
		weight := value / (k / n)
		low, high = min(low*weight, value), min(1, max(high*weight, value))
	}
	return verdict.Interval{Value: value, Low: low, High: high}
}
