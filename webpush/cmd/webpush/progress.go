package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"postage/webpush"
)

// progress counts the outcomes of a broadcast. On a terminal it shows them in one line.
type progress struct {
	screen io.Writer // nil if it is no terminal
	began  time.Time
	drawn  time.Time

	earlier  int64 // outcomes of the broadcast that this one continues
	done     int64
	open     int64 // certainly not taken, and may be if they are sent again
	outcomes map[webpush.Outcome]int64
	services map[string]*serviceProgress // by origin
}

// serviceProgress is what one push service did.
type serviceProgress struct {
	origin        string
	taken, others int64
	lastTaken     time.Time
}

func newProgress(stderr io.Writer, kept map[webpush.Outcome]int64) *progress {
	p := &progress{began: time.Now(), outcomes: map[webpush.Outcome]int64{}, services: map[string]*serviceProgress{}}
	if isTerminal(stderr) {
		p.screen = stderr
	}
	for outcome, n := range kept {
		p.outcomes[outcome] = n
		p.earlier += n
	}
	return p
}

func (p *progress) add(origin string, result webpush.Result) {
	p.done++
	p.outcomes[result.Outcome()]++
	if !result.Final() {
		p.open++
	}
	s := p.services[origin]
	if s == nil {
		s = &serviceProgress{origin: cmp.Or(origin, "(no subscription)")}
		p.services[origin] = s
	}
	now := time.Now()
	if result.Outcome() == webpush.Accepted {
		s.taken++
		s.lastTaken = now
	} else {
		s.others++
	}
	if p.screen != nil && now.Sub(p.drawn) > 200*time.Millisecond {
		fmt.Fprintf(p.screen, "\r\x1b[K%s, %.0f/s", p.counts(), float64(p.done)/now.Sub(p.began).Seconds())
		p.drawn = now
	}
}

// erase removes what is drawn, and nothing is drawn any more.
func (p *progress) erase() {
	if p.screen != nil {
		fmt.Fprint(p.screen, "\r\x1b[K")
		p.screen = nil
	}
}

func (p *progress) counts() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(p.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.outcomes[outcome], outcome))
	}
	return fmt.Sprintf("%d subscriptions: %s", p.earlier+p.done, cmp.Or(strings.Join(parts, ", "), "nothing to do"))
}

// failed counts the messages that will not be taken, though their subscription has not ended.
func (p *progress) failed() (n int64) {
	for outcome, count := range p.outcomes {
		if outcome != webpush.Accepted && outcome != webpush.Gone {
			n += count
		}
	}
	return n - p.open
}

// summary is the command's result. The service with the most messages comes first.
func (p *progress) summary(w io.Writer, results string) {
	fmt.Fprintln(w, p.counts())
	for _, s := range slices.SortedFunc(maps.Values(p.services), func(a, b *serviceProgress) int {
		return cmp.Or(cmp.Compare(b.taken+b.others, a.taken+a.others), cmp.Compare(a.origin, b.origin))
	}) {
		rate := ""
		if seconds := s.lastTaken.Sub(p.began).Seconds(); s.taken > 1 && seconds > 0 {
			rate = fmt.Sprintf(", %.0f/s", float64(s.taken)/seconds)
		}
		fmt.Fprintf(w, "  %s: %d taken%s, %d not\n", s.origin, s.taken, rate, s.others)
	}
	fmt.Fprintf(w, "results: %s\n", results)
}
