package load

import (
	"slices"
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
	case read.Sub(c.polled) > tolerated:
		return c.polled
	}
	return read
}

// charge is the function charge, for a loop. It may not have run since it last polled either.
func (c *loopClock) charge(due, now time.Time) time.Time {
	owed := c.owed
	if handled := now.Sub(c.polled); handled > tolerated {
		owed += handled
	}
	charged := charge(&owed, due, now)
	if owed == 0 {
		c.owed = 0
	}
	return charged
}

// charge returns from when on the server alone makes a request wait that was due, and is sent now.
func charge(owed *time.Duration, due, now time.Time) time.Time {
	waited := now.Sub(due)
	if waited <= tolerated {
		*owed = 0
		return due
	}
	return due.Add(min(waited, *owed))
}

// A pulse knows when the process did not run, for lines that are not loops.
type pulse struct {
	mu       sync.Mutex
	beat     time.Time // the last one
	from, to time.Time // between two beats that were too far apart
	owed     time.Duration
	missed   time.Duration // in all
}

// pulseEvery is the time between two beats. A pause that is shorter is not seen.
const pulseEvery = 5 * time.Millisecond

// begin begins to beat, unless all lines are loops, which have clocks of their own.
func (p *pulse) begin(lines []Line) (end func()) {
	if allLoops(lines) {
		return func() {}
	}
	p.beat = time.Now()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(pulseEvery)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				p.notice(time.Now(), true)
			}
		}
	})
	return func() {
		close(stop)
		group.Wait()
	}
}

// notice looks whether the last beat is too long ago.
func (p *pulse) notice(now time.Time, beats bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gap := now.Sub(p.beat); !p.beat.IsZero() && gap > pulseEvery+2*tolerated {
		p.from, p.to = p.beat, now
		p.owed += gap
		p.missed += gap
		beats = true
	}
	if beats {
		p.beat = now
	}
}

// earliest returns when an answer that was read at a time may have come.
func (p *pulse) earliest(read time.Time) time.Time {
	p.notice(read, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if read.Sub(p.to) <= 2*tolerated {
		return p.from
	}
	return read
}

// charge is the function charge for a line that has had room since free.
func (p *pulse) charge(due, now, free time.Time) time.Time {
	p.notice(now, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if late := now.Sub(later(due, free)); late > tolerated {
		p.owed += late
	}
	return charge(&p.owed, due, now)
}

func allLoops(lines []Line) bool {
	return !slices.ContainsFunc(lines, func(line Line) bool {
		_, loops := line.(*loop)
		return !loops
	})
}
