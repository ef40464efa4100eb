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

// progress counts the outcomes of a broadcast and shows them on a terminal: a bar, and how
// fast each push service takes its messages. Anywhere else it is silent.
type progress struct {
	w     io.Writer
	live  bool // it is a terminal
	drawn int  // lines on it
	last  time.Time

	began   time.Time
	now     func() time.Time
	total   int
	earlier int64 // done by the broadcast that this one continues

	done     int64
	open     int64 // certainly not taken, and may be if they are sent again
	outcomes map[webpush.Outcome]int64
	origins  map[string]*originProgress
}

// originProgress is what one push service did.
type originProgress struct {
	name          string
	taken, others int64
	lastTaken     time.Time
}

// redrawEvery is the shortest time between two drawings.
const redrawEvery = 200 * time.Millisecond

// shownOrigins is how many push services have a line.
const shownOrigins = 5

func newProgress(w io.Writer, total int, kept map[webpush.Outcome]int64) *progress {
	p := &progress{
		w: w, live: isTerminal(w), total: total, now: time.Now, began: time.Now(),
		outcomes: map[webpush.Outcome]int64{}, origins: map[string]*originProgress{},
	}
	for o, n := range kept {
		p.outcomes[o] = n
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
	o := p.origins[origin]
	if o == nil {
		o = &originProgress{name: cmp.Or(origin, "(no subscription)")}
		p.origins[origin] = o
	}
	if result.Outcome() == webpush.Accepted {
		o.taken++
		o.lastTaken = p.now()
	} else {
		o.others++
	}
	if p.live && p.done%16 == 0 && p.now().Sub(p.last) >= redrawEvery {
		p.redraw()
	}
}

func (p *progress) redraw() {
	p.last = p.now()
	p.erase()
	lines := p.lines()
	for _, line := range lines {
		fmt.Fprintf(p.w, "\x1b[?7l%s\x1b[?7h\n", line) // without wrapping
	}
	p.drawn = len(lines)
}

// erase removes what is drawn.
func (p *progress) erase() {
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

func (p *progress) lines() []string {
	done := p.earlier + p.done
	left := "?"
	if elapsed := p.now().Sub(p.began); p.done > 0 {
		left = time.Duration(float64(elapsed) * float64(int64(p.total)-done) / float64(p.done)).Round(time.Second).String()
	}
	lines := []string{
		fmt.Sprintf("%s %d of %d, %s left", bar(float64(done)/float64(max(1, p.total))), done, p.total, left),
		p.counts(),
	}
	services := p.services()
	if more := len(services) - shownOrigins; more > 0 {
		services = append(services[:shownOrigins], fmt.Sprintf("  and %d more", more))
	}
	return append(lines, services...)
}

// bar draws a share, 0 to 1, as a bar.
func bar(share float64) string {
	const width = 24
	full := int(width * min(1, max(0, share)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// counts names the outcomes that there were.
func (p *progress) counts() string {
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(p.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.outcomes[o], o))
	}
	return strings.Join(parts, ", ")
}

// services has a line for each push service, that with the most messages first.
func (p *progress) services() (lines []string) {
	for _, o := range slices.SortedFunc(maps.Values(p.origins), func(a, b *originProgress) int {
		return cmp.Or(cmp.Compare(b.taken+b.others, a.taken+a.others), cmp.Compare(a.name, b.name))
	}) {
		rate := ""
		if seconds := o.lastTaken.Sub(p.began).Seconds(); o.taken > 1 && seconds > 0 {
			rate = fmt.Sprintf(", %.0f/s", float64(o.taken)/seconds)
		}
		lines = append(lines, fmt.Sprintf("  %s: %d taken%s, %d not", o.name, o.taken, rate, o.others))
	}
	return lines
}

// failed counts the messages that will not be taken, though their subscription has not ended.
func (p *progress) failed() (n int64) {
	for o, count := range p.outcomes {
		if o != webpush.Accepted && o != webpush.Gone {
			n += count
		}
	}
	return n - p.open
}

// summary is the command's result.
func (p *progress) summary(w io.Writer, results string) {
	fmt.Fprintf(w, "%d of %d: %s\n", p.earlier+p.done, p.total, cmp.Or(p.counts(), "nothing to do"))
	for _, line := range p.services() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "results: %s\n", results)
}
