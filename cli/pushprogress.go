package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"postage/internal/words"
	"postage/webpush"
)

// broadcastProgress counts the outcomes of a broadcast and shows them on a terminal: a bar, and how
// fast each push service takes its messages. Anywhere else it is silent.
type broadcastProgress struct {
	screen
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
	name            string
	taken, others   int64
	takenAtLastDraw int64
	perSecond       float64
	lastTaken       time.Time
}

// shownOrigins is how many push services have a line.
const shownOrigins = 5

func newBroadcastProgress(w io.Writer, total int, kept map[webpush.Outcome]int64) *broadcastProgress {
	p := &broadcastProgress{
		screen: newScreen(w), total: total, now: time.Now, began: time.Now(),
		outcomes: maps.Clone(kept), origins: map[string]*originProgress{},
	}
	if p.outcomes == nil {
		p.outcomes = map[webpush.Outcome]int64{}
	}
	for _, n := range kept {
		p.earlier += n
	}
	return p
}

func (p *broadcastProgress) add(origin string, result webpush.Result) {
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

func (p *broadcastProgress) redraw() {
	elapsed := p.now().Sub(p.last).Seconds()
	for _, o := range p.origins {
		if !p.last.IsZero() && elapsed > 0 { // smoothed over a second or two
			o.perSecond += (float64(o.taken-o.takenAtLastDraw)/elapsed - o.perSecond) * min(elapsed, 1)
		}
		o.takenAtLastDraw = o.taken
	}
	p.last = p.now()
	p.draw(p.lines()...)
}

func (p *broadcastProgress) lines() []string {
	done := p.earlier + p.done
	left := "?"
	if elapsed := p.now().Sub(p.began); p.done > 0 {
		left = (elapsed * time.Duration(int64(p.total)-done) / time.Duration(p.done)).Round(time.Second).String()
	}
	lines := []string{
		fmt.Sprintf("%s %d of %d, %s left", bar(float64(done)/float64(max(1, p.total))), done, p.total, left),
		p.counts(),
	}
	for i, o := range p.sorted() {
		if i == shownOrigins {
			lines = append(lines, fmt.Sprintf("  and %s more", words.Counted(len(p.origins)-i, "push service")))
			break
		}
		lines = append(lines, fmt.Sprintf("  %6.0f/s  %s  %d taken, %d not", o.perSecond, o.name, o.taken, o.others))
	}
	return lines
}

// counts names the outcomes that there were.
func (p *broadcastProgress) counts() string {
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(p.outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.outcomes[o], o))
	}
	return strings.Join(parts, ", ")
}

// sorted has the push services with the most messages first.
func (p *broadcastProgress) sorted() []*originProgress {
	return slices.SortedFunc(maps.Values(p.origins), func(a, b *originProgress) int {
		return cmp.Or(cmp.Compare(b.taken+b.others, a.taken+a.others), cmp.Compare(a.name, b.name))
	})
}

// failed counts the messages that will not be taken, though their subscription has not
// ended.
func (p *broadcastProgress) failed() (n int64) {
	for o, count := range p.outcomes {
		if o != webpush.Accepted && o != webpush.Gone {
			n += count
		}
	}
	return n - p.open
}

// summary is the command's result.
func (p *broadcastProgress) summary(w io.Writer, results string) {
	fmt.Fprintf(w, "%d of %d: %s\n", p.earlier+p.done, p.total, cmp.Or(p.counts(), "nothing to do"))
	for _, o := range p.sorted() {
		rate := ""
		if seconds := o.lastTaken.Sub(p.began).Seconds(); o.taken > 1 && seconds > 0 {
			rate = fmt.Sprintf(", %.0f/s", float64(o.taken)/seconds)
		}
		fmt.Fprintf(w, "  %s: %d taken%s, %d not\n", o.name, o.taken, rate, o.others)
	}
	fmt.Fprintf(w, "results: %s\n", results)
}
