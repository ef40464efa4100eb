package load

import (
	"sync"
	"time"
)

// A loopClock knows when its loop did not run, because the process was stopped or another had the
// processor.
type loopClock struct {
	polled time.Time // when the loop last looked for answers
	more   bool      // there may have been others then
	blind  time.Time // since when an answer that is read now may have been there; zero for now
	// owed is how long requests may have waited because the loop did not run, since it last sent one
	// on time.
	owed time.Duration
	// handles is how long the loop may take from one look to what it does after it.
	handles time.Duration
}

// looked notes that the loop has looked for answers. It had asked to wait no longer than asked. It
// returns how long the loop may not have run.
func (c *loopClock) looked(now time.Time, asked time.Duration, more bool) (missed time.Duration) {
	missed = now.Sub(c.polled)
	if missed <= asked+tolerated {
		missed = 0
	}
	c.owed += missed
	if !c.more {
		c.blind = time.Time{}
	}
	if missed > 0 && c.blind.IsZero() {
		c.blind = c.polled
	}
	c.polled, c.more = now, more
	return missed
}

// earliest returns when an answer that was read at a time may have come.
func (c *loopClock) earliest(read time.Time) time.Time {
	switch {
	case !c.blind.IsZero():
		return c.blind
	case read.Sub(c.polled) > c.handles:
		return c.polled
	}
	return read
}

// charge returns from when on the server alone makes a request wait that was due, and is sent now.
// The loop may not have run since it last looked either.
func (c *loopClock) charge(due, now time.Time) time.Time {
	waited := now.Sub(due)
	if waited <= tolerated {
		c.owed = 0
		return due
	}
	owed := c.owed
	if handled := now.Sub(c.polled); handled > c.handles {
		owed += handled
	}
	return due.Add(min(waited, owed))
}

// A pulse is the clock of lines that are not loops: a loop that does nothing but look, at intervals.
type pulse struct {
	mu    sync.Mutex
	clock loopClock
}

// pulseEvery is the time between two looks. A pause that is shorter is not seen.
const pulseEvery = 5 * time.Millisecond

// begin begins to look, unless all lines are loops, which have clocks of their own.
func (p *pulse) begin(lines []Line) (end func()) {
	for _, line := range lines {
		if _, loops := line.(*loop); !loops {
			p.clock = loopClock{polled: time.Now(), handles: pulseEvery + 2*tolerated}
			return every(pulseEvery, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.clock.looked(time.Now(), pulseEvery+tolerated, false)
			})
		}
	}
	return func() {}
}

// earliest returns when an answer that was read at a time may have come.
func (p *pulse) earliest(read time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.earliest(read)
}

// charge is loopClock.charge for a line that has had room since free.
func (p *pulse) charge(due, now, free time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if late := now.Sub(later(due, free)); late > tolerated {
		p.clock.owed += late
	}
	return p.clock.charge(due, now)
}

// every calls a function at intervals, until stop is called.
func every(interval time.Duration, call func()) (stop func()) {
	ticker, stopped := time.NewTicker(interval), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				call()
			case <-stopped:
				return
			}
		}
	})
	return func() {
		close(stopped)
		group.Wait()
	}
}
