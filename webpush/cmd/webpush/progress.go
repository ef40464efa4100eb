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
}

func newProgress(stderr io.Writer, kept map[webpush.Outcome]int64) *progress {
	p := &progress{began: time.Now(), outcomes: map[webpush.Outcome]int64{}}
	if isTerminal(stderr) {
		p.screen = stderr
	}
	for outcome, n := range kept {
		p.outcomes[outcome] = n
		p.earlier += n
	}
	return p
}

func (p *progress) add(result webpush.Result) {
	p.done++
	p.outcomes[result.Outcome()]++
	if !result.Final() {
		p.open++
	}
	if now := time.Now(); p.screen != nil && now.Sub(p.drawn) > 200*time.Millisecond {
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
