package load

import (
	"cmp"
	"context"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A loop is a line of many connections of HTTP/1.1 or HTTP/2, served by one thread. Its poller waits
// for all of them; only Linux has one.
type loop struct {
	poller  *poller
	lanes   []lane
	sockets []*socket
	making  connecting
	free    vacancies

	// The rest is used by Serve only.
	expiry    expiry
	work      *Work
	next      slot         // the next request
	unwritten []*http2Conn // those with something to write
	buffers   buffers
	clock     loopClock
	meter     *meter
}

// An expiry says when the loop looks for late requests.
type expiry struct {
	timeout time.Duration // of a request, 0 for none
	next    time.Time     // when to look
}

// buffers are what all connections are read into.
type buffers struct{ in, plain []byte } // what was read, and what TLS decrypted

// A slot is the next request.
type slot struct {
	due         time.Time
	taken, last bool // from the pacer; there are no more
}

// A lane carries requests over one connection at a time: one request in HTTP/1.1, and several in
// HTTP/2.
type lane interface {
	state() *laneState
	connected() bool
	// room reports whether the lane takes another request.
	room() bool
	// working reports whether the lane has a request.
	working() bool
	// begin begins a request.
	begin(t timing)
	// adopt takes a new connection.
	adopt(conn net.Conn, now time.Time) error
	// made is the outcome of loop.connect.
	made(now time.Time, err error)
	// expire gives up requests that have taken too long, and returns when to look again.
	expire(now time.Time) (next time.Time)
	// giveUp gives up all requests.
	giveUp(now time.Time, why error)
	close()
}

// A laneState is the loop's part of a lane.
type laneState struct {
	free bool // whether it is among the loop's free lanes
}

func (s *laneState) state() *laneState { return s }

// vacancies is a ring of the lanes with room, the one that had it longest first.
type vacancies struct {
	ring         []lane // as long as there are lanes
	start, count int
}

type connecting struct {
	dial   func(ctx context.Context) (net.Conn, error)
	ctx    context.Context // of the run that is served
	active int             // connections that are being made
	made   chan dialed
	group  sync.WaitGroup // the goroutines that make them
	all    *atomic.Int64  // the number of connections that this loop and the pool's others are making
}

// dialed is a connection that was made, or why not.
type dialed struct {
	lane lane
	conn net.Conn
	err  error
}

// openLoops adds the target's loops to the pool. The function add adds a lane.
func openLoops(t *Target, p *Pool, dial func(context.Context) (net.Conn, error), add func(l *loop) lane) (err error) {
	loops, all := min(cmp.Or(t.Loops, runtime.GOMAXPROCS(0)), t.Conns), new(atomic.Int64)
	for i := range loops {
		l := &loop{
			meter: t.meter, expiry: expiry{timeout: t.Timeout},
			buffers: buffers{in: make([]byte, 64<<10)},
		}
		if l.poller, err = newPoller(); err != nil {
			return err
		}
		p.Lines = append(p.Lines, l)
		p.closers = append(p.closers, l.Close)
		for n := i; n < t.Conns; n += loops {
			l.lanes = append(l.lanes, add(l))
		}
		l.making = connecting{dial: dial, made: make(chan dialed, len(l.lanes)), all: all}
		l.free.ring = make([]lane, len(l.lanes))
		for _, one := range l.lanes {
			l.free.add(one)
		}
	}
	return nil
}

func (l *loop) Close() error {
	for _, one := range l.lanes {
		one.close()
	}
	l.making.group.Wait() // they wake the poller
	l.poller.close()
	return nil
}

func (l *loop) Connect(ctx context.Context) error {
	var adopting sync.Mutex
	connect(l.lanes, func(one lane) {
		if one.connected() || ctx.Err() != nil {
			return
		}
		if conn, err := l.making.dial(ctx); err == nil {
			adopting.Lock()
			defer adopting.Unlock()
			_ = one.adopt(conn, time.Now())
		}
	})
	return ctx.Err()
}

// connect makes a connection for a lane, in a goroutine; woken tells the lane.
func (l *loop) connect(one lane) {
	m := &l.making
	m.active++
	m.all.Add(1)
	ctx := m.ctx
	m.group.Go(func() {
		defer m.all.Add(-1)
		conn, err := m.dial(ctx)
		m.made <- dialed{one, conn, err}
		l.poller.wake()
	})
}

func (l *loop) socket(u user) *socket {
	s := &socket{loop: l, number: len(l.sockets), user: u}
	l.sockets = append(l.sockets, s)
	return s
}

// add adds a lane, unless it is there already.
func (v *vacancies) add(one lane) {
	if s := one.state(); !s.free {
		s.free = true
		v.ring[(v.start+v.count)%len(v.ring)] = one
		v.count++
	}
}

// first returns the first lane, or nil. Lanes that have lost their room meanwhile go.
func (v *vacancies) first() lane {
	for v.count > 0 {
		one := v.ring[v.start]
		if one.room() {
			return one
		}
		v.remove(one)
	}
	return nil
}

func (v *vacancies) remove(first lane) {
	first.state().free = false
	v.start = (v.start + 1) % len(v.ring)
	v.count--
}

func (l *loop) Serve(ctx context.Context, w *Work) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slack(1)
	defer slack(0)
	woke := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woke)
		l.poller.wake()
	})
	defer func() {
		if !stop() {
			<-woke // it uses the poller
		}
	}()
	now := time.Now()
	l.making.ctx, l.work = ctx, w
	l.next, l.clock = slot{}, loopClock{polled: now, handles: tolerated}
	l.expiry.next = now.Add(l.expiry.timeout)
	now = l.handle(l.poller.poll(0, true), now) // what came since the last run
	for {
		l.fill(now)
		if ctx.Err() != nil {
			l.giveUp(ctx.Err())
			return
		}
		if l.next.last && !slices.ContainsFunc(l.lanes, lane.working) {
			return
		}
		patience := l.patience(now)
		asked := now.Add(patience).Sub(l.clock.polled)
		events := l.wait(patience)
		now = time.Now()
		if missed := l.clock.looked(now, asked, len(events) == pollMost); missed > 0 {
			w.paused(missed)
		}
		now = l.handle(events, now)
		if l.expiry.timeout > 0 && !now.Before(l.expiry.next) {
			l.expiry.next = now.Add(l.expiry.timeout)
			for _, one := range l.lanes {
				if next := one.expire(now); !next.IsZero() && next.Before(l.expiry.next) {
					l.expiry.next = next
				}
			}
		}
	}
}

func (l *loop) handle(events []event, now time.Time) time.Time {
	for _, e := range events {
		if e.number < 0 {
			l.woken(now)
			continue
		}
		if s := l.sockets[e.number]; s.wire != nil && s.opened == e.opened {
			now = s.handle(e, now)
			l.fill(now)
		}
	}
	return now
}

// fill sends the requests that are due while lanes have room, and whatever else is to be written.
func (l *loop) fill(now time.Time) {
	l.begin(now)
	for len(l.unwritten) > 0 {
		for i := 0; i < len(l.unwritten); i++ { // one that has failed may add another
			l.unwritten[i].flushNow(now)
		}
		l.unwritten = l.unwritten[:0]
		l.begin(now) // if a connection failed, there is room
	}
}

// begin begins the requests that are due while lanes have room.
func (l *loop) begin(now time.Time) {
	for !l.next.last {
		one := l.free.first()
		if one == nil {
			return
		}
		if !l.next.taken {
			if l.next.due, l.next.taken = l.work.claim(now); !l.next.taken {
				l.next.last = true
				return
			}
		}
		if l.next.due.After(now) {
			if l.work.run.ctx.Err() == nil {
				return
			}
			l.work.unclaim() // interrupted before it was due
			l.next = slot{last: true}
			return
		}
		l.next.taken = false
		t := timing{due: l.next.due, sent: now, charged: l.clock.charge(l.next.due, now)}
		if !l.work.sent(t) {
			l.next.last = true
			return
		}
		l.free.remove(one)
		if one.begin(t); one.room() {
			l.free.add(one)
		}
	}
}

// done is the end of a request, whose answer was read now.
func (l *loop) done(t timing, now time.Time, status int, err error) {
	l.work.done(t, now, later(l.clock.earliest(now), t.sent), status, err)
}

// How long a loop waits at most: it has to notice an interruption and, at a rate, that it did not
// run.
const (
	waitMost      = 50 * time.Millisecond
	waitMostPaced = 2 * time.Millisecond
)

// patience is how long the loop may wait for answers.
func (l *loop) patience(now time.Time) time.Duration {
	d := waitMost
	if l.work.run.paced() {
		d = waitMostPaced
	}
	if l.next.taken {
		d = min(d, l.next.due.Sub(now))
	}
	if l.expiry.timeout > 0 {
		d = min(d, l.expiry.next.Sub(now))
	}
	return max(d, 0)
}

// woken takes in the connections that were made.
func (l *loop) woken(now time.Time) {
	for {
		select {
		case d := <-l.making.made:
			l.making.active--
			if d.err == nil {
				d.err = d.lane.adopt(d.conn, now)
			}
			d.lane.made(now, d.err)
			l.fill(now)
		default:
			return
		}
	}
}

func (l *loop) giveUp(why error) {
	now := time.Now()
	for ; l.making.active > 0; l.making.active-- {
		if d := <-l.making.made; d.err == nil {
			_ = d.conn.Close()
		}
	}
	if l.next.taken {
		l.next.taken = false
		if l.next.due.After(now) {
			l.work.unclaim()
		} else {
			l.work.notSent(l.next.due, now, "")
		}
	}
	for _, one := range l.lanes {
		one.giveUp(now, why)
	}
}

// How long the loop waits without telling Go's scheduler, which costs more than most answers take.
// Other goroutines then have a processor less, until the scheduler sends this thread a signal: after
// 10 ms, and to collect garbage. Without a rate the wait is longer than the kernel's tick: an earlier
// timer costs a seventh of a request to nginx.
const (
	spin        = 100 * time.Microsecond
	spinUnpaced = 5 * time.Millisecond
)

func (l *loop) wait(d time.Duration) []event {
	if l.making.all.Load() == 0 {
		first := spin
		if !l.work.run.paced() {
			first = spinUnpaced
		}
		if events := l.poller.poll(min(d, first), true); len(events) > 0 || d <= first {
			return events
		}
		d -= first
	}
	return l.poller.poll(d, false)
}
