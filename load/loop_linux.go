package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A loop is a line of many connections served by one thread. In one system call it waits for all of
// them and for the time at which the next request is due. One goroutine for each connection would
// cost two context switches a request, and a pacer a third.
type loop struct {
	target  *Target
	dial    func(ctx context.Context) (net.Conn, error)
	lanes   []lane
	sockets []*socket
	unused  []*http2Socket // those that are closed, for reuse
	epoll   int
	wakeFD  int // an eventfd that wakes the loop

	// The rest is used by Serve only.
	ctx     context.Context
	work    *Work
	free    []lane    // a ring of the lanes with room, those that had it longest first
	first   int       // the index in free of the first
	frees   int       // their number
	freed   time.Time // when a lane last had room again after none had
	active  int       // requests under way
	due     time.Time // when the next request is due, if one is claimed
	claimed bool
	over    bool      // no more requests
	expires time.Time // when to look for requests that take too long
	dials   int       // connections that are being made
	dialed  chan dialed
	dialing sync.WaitGroup // the goroutines that make them
	// connecting is the number of connections that this loop and the pool's others are making.
	connecting *atomic.Int64
	unwritten  []*http2Socket // those with something to write
	in, plain  []byte         // what came, and what it was before TLS encrypted it
	events     []unix.EpollEvent
}

// A lane carries requests over one connection at a time: one request in HTTP/1.1, and several in
// HTTP/2.
type lane interface {
	state() *laneState
	connected() bool
	// room reports whether the lane takes another request.
	room() bool
	// begin begins a request.
	begin(due, now time.Time)
	// adopt takes a new connection.
	adopt(l link, now time.Time) error
	// made is the outcome of loop.connect.
	made(now time.Time, err error)
	// expire gives up requests that have taken too long, and returns when to look again.
	expire(now time.Time) (next time.Time)
	// giveUp gives up all requests.
	giveUp(now time.Time, why error)
	close()
}

// A laneState is what the loop knows of a lane.
type laneState struct {
	free bool // whether it is among the loop's free lanes
}

func (s *laneState) state() *laneState { return s }

// A link is a connection that Go's network poller no longer has.
type link struct {
	fd     int
	secure *tls.Conn // nil without TLS; over a *records
}

// dialed is the outcome of making a connection.
type dialed struct {
	lane lane
	link link
	err  error
}

// A socket is a connection as a loop sees it.
type socket struct {
	loop   *loop
	number int   // its index in the loop's sockets
	fd     int   // -1 if there is no connection
	opened int32 // how many connections were made, to tell its events from those of earlier ones
	waits  bool  // for the connection to become writable
	// ready handles the connection's events and returns the current time.
	ready func(events uint32, now time.Time) time.Time
}

// openLoops adds loops to the pool, one for each processor. The function add adds a lane.
func openLoops(t *Target, p *Pool, dial func(context.Context) (net.Conn, error), add func(l *loop) lane) (err error) {
	loops, connecting := min(runtime.GOMAXPROCS(0), t.Conns), new(atomic.Int64)
	for i := range loops {
		l := &loop{target: t, dial: dial, connecting: connecting, epoll: -1, wakeFD: -1, in: make([]byte, 64<<10), events: make([]unix.EpollEvent, 64)}
		p.Lines = append(p.Lines, l)
		p.closers = append(p.closers, l.Close)
		for n := i; n < t.Conns; n += loops {
			l.lanes = append(l.lanes, add(l))
		}
		l.dialed = make(chan dialed, len(l.lanes))
		l.free = make([]lane, len(l.lanes))
		for _, one := range l.lanes {
			l.release(one)
		}
		if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return os.NewSyscallError("epoll_create1", err)
		}
		if l.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return os.NewSyscallError("eventfd", err)
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wakeFD, &event); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	return nil
}

// pacesItself says that the line itself waits for requests to be due, and takes them by Work.claim.
func (l *loop) pacesItself() {}

// Close ends all connections.
func (l *loop) Close() error {
	for _, one := range l.lanes {
		one.close()
	}
	l.dialing.Wait() // they use wakeFD
	for _, fd := range []*int{&l.epoll, &l.wakeFD} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	return nil
}

// Connect makes all connections.
func (l *loop) Connect(ctx context.Context) error {
	turn := make(chan struct{}, connectors)
	var group sync.WaitGroup
	var adopting sync.Mutex
	for _, one := range l.lanes {
		if one.connected() || ctx.Err() != nil {
			continue
		}
		turn <- struct{}{}
		group.Go(func() {
			defer func() { <-turn }()
			if link, err := l.connection(ctx); err == nil {
				adopting.Lock()
				defer adopting.Unlock()
				_ = one.adopt(link, time.Now())
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// connect makes a connection for a lane and tells it later.
func (l *loop) connect(one lane) {
	l.dials++
	l.connecting.Add(1)
	ctx := l.ctx
	l.dialing.Go(func() {
		defer l.connecting.Add(-1)
		link, err := l.connection(ctx)
		l.dialed <- dialed{one, link, err}
		l.wake()
	})
}

// connection makes a connection and takes it away from Go's network poller.
func (l *loop) connection(ctx context.Context) (link, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return link{}, err
	}
	secure, _ := conn.(*tls.Conn)
	if secure != nil {
		conn = secure.NetConn().(*records).release()
	}
	defer conn.Close()
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return link{}, fmt.Errorf("a connection is of type %T", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return link{}, err
	}
	fd := -1
	var failed error
	err = raw.Control(func(from uintptr) { fd, failed = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return link{}, err
	}
	return link{fd, secure}, nil
}

// add adds a socket to the loop's.
func (l *loop) add(s *socket) {
	s.loop, s.number, s.fd = l, len(l.sockets), -1
	l.sockets = append(l.sockets, s)
}

// open adds a connection to those that the loop waits for.
func (s *socket) open(fd int) error {
	s.opened++
	s.fd, s.waits = fd, false
	if err := s.watch(unix.EPOLL_CTL_ADD); err != nil {
		s.drop()
		return err
	}
	return nil
}

func (s *socket) watch(how int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(s.number), Pad: s.opened}
	if s.waits {
		event.Events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(s.loop.epoll, how, s.fd, &event))
}

// drop ends a connection.
func (s *socket) drop() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}

// send writes as much as the connection accepts. There is an event when it accepts more.
func (s *socket) send(data []byte) (n int, err error) {
	for n < len(data) {
		more, errno := transfer(unix.SYS_SENDTO, s.fd, data[n:], unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			n += more
		case unix.EINTR:
		case unix.EAGAIN:
			return n, s.await(true)
		default:
			return n, os.NewSyscallError("write", errno)
		}
	}
	return n, s.await(false)
}

// await has the loop wait, or not, for the connection to become writable.
func (s *socket) await(writable bool) error {
	if s.waits == writable {
		return nil
	}
	s.waits = writable
	return s.watch(unix.EPOLL_CTL_MOD)
}

// receive reads what has come. It returns 0 if nothing has, and io.EOF at the end.
func (s *socket) receive(into []byte) (n int, err error) {
	n, errno := transfer(unix.SYS_RECVFROM, s.fd, into, unix.MSG_DONTWAIT)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, os.NewSyscallError("read", errno)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// freeAgain adds a lane to the free ones after it had no room.
func (l *loop) freeAgain(one lane, now time.Time) {
	if l.frees == 0 {
		l.freed = now
	}
	l.release(one)
}

// release adds a lane to the free ones.
func (l *loop) release(one lane) {
	s := one.state()
	if s.free {
		return
	}
	s.free = true
	at := l.first + l.frees
	if at >= len(l.free) {
		at -= len(l.free)
	}
	l.free[at] = one
	l.frees++
}

// vacant returns the first lane that has room, or nil.
func (l *loop) vacant() lane {
	for l.frees > 0 {
		one := l.free[l.first]
		if one.room() {
			return one
		}
		l.occupy(one)
	}
	return nil
}

// occupy takes the first lane from the free ones.
func (l *loop) occupy(one lane) {
	one.state().free = false
	if l.first++; l.first == len(l.free) {
		l.first = 0
	}
	l.frees--
}

// wake wakes the loop.
func (l *loop) wake() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(l.wakeFD, one[:])
}

// Serve sends a run's requests.
func (l *loop) Serve(ctx context.Context, w *Work) {
	runtime.LockOSThread()
	sharpen()
	defer func() {
		blunt()
		runtime.UnlockOSThread()
	}()
	woke := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woke)
		l.wake()
	})
	defer func() {
		if !stop() {
			<-woke // it uses wakeFD
		}
	}()
	now := time.Now()
	l.ctx, l.work, l.freed, l.over, l.claimed = ctx, w, now, false, false
	l.expires = now.Add(l.target.Timeout)
	now = l.handle(l.poll(0, true), now) // what came since the last run
	for {
		l.fill(now)
		if ctx.Err() != nil {
			l.giveUp(ctx.Err())
			return
		}
		if l.over && l.active == 0 {
			return
		}
		n := l.wait(l.patience(now))
		now = l.handle(n, time.Now())
		if l.target.Timeout > 0 && !now.Before(l.expires) {
			l.expires = now.Add(l.target.Timeout)
			for _, one := range l.lanes {
				if next := one.expire(now); !next.IsZero() && next.Before(l.expires) {
					l.expires = next
				}
			}
		}
	}
}

// handle handles events, and returns the current time.
func (l *loop) handle(n int, now time.Time) time.Time {
	for _, event := range l.events[:n] {
		if event.Fd < 0 {
			l.woken(now)
			continue
		}
		if s := l.sockets[event.Fd]; s.fd >= 0 && s.opened == event.Pad {
			now = s.ready(event.Events, now)
			l.fill(now)
		}
	}
	return now
}

// fill sends the requests that are due while lanes have room, and whatever else is to be written.
func (l *loop) fill(now time.Time) {
	l.begin(now)
	for len(l.unwritten) > 0 {
		for _, s := range l.unwritten {
			s.flush(now)
		}
		l.unwritten = l.unwritten[:0]
		l.begin(now) // if a connection failed, there is room
	}
}

// begin begins the requests that are due while lanes have room.
func (l *loop) begin(now time.Time) {
	for !l.over {
		one := l.vacant()
		if one == nil {
			return
		}
		var due time.Time
		ok := false
		if l.work.run.plan.Rate == 0 {
			due, ok = l.work.Try(now, l.freed)
		} else {
			if !l.claimed {
				l.due, l.claimed = l.work.claim()
			}
			if l.claimed && l.due.After(now) {
				if l.work.run.ctx.Err() == nil {
					return
				}
				l.work.unclaim() // interrupted before it was due
				l.claimed = false
			}
			if l.claimed {
				due, ok = l.work.sent(l.due, now, l.freed)
				l.claimed = false
			}
		}
		if !ok {
			l.over = true
			return
		}
		l.occupy(one)
		if one.begin(due, now); one.room() {
			l.release(one)
		}
	}
}

// patience is how long the loop waits when only answers can come. It is short enough to notice an
// interruption.
func (l *loop) patience(now time.Time) time.Duration {
	d := 50 * time.Millisecond
	if l.claimed {
		d = min(d, l.due.Sub(now))
	}
	if l.target.Timeout > 0 && l.active > 0 {
		d = min(d, l.expires.Sub(now))
	}
	return max(d, 0)
}

// woken takes in the connections that were made.
func (l *loop) woken(now time.Time) {
	var count [8]byte
	_, _ = unix.Read(l.wakeFD, count[:])
	for {
		select {
		case d := <-l.dialed:
			l.dials--
			if d.err == nil {
				d.err = d.lane.adopt(d.link, now)
			}
			d.lane.made(now, d.err)
			l.fill(now)
		default:
			return
		}
	}
}

// giveUp ends all requests under way.
func (l *loop) giveUp(why error) {
	now := time.Now()
	for ; l.dials > 0; l.dials-- {
		if d := <-l.dialed; d.err == nil {
			_ = unix.Close(d.link.fd)
		}
	}
	if l.claimed {
		l.claimed = false
		if l.due.After(now) {
			l.work.unclaim()
		} else {
			l.work.Done(l.due, now, 0, why)
		}
	}
	for _, one := range l.lanes {
		one.giveUp(now, why)
	}
}

// How long the loop waits without telling Go's scheduler. Telling it costs more than the time that
// most answers take. Meanwhile other goroutines have a processor less, unless the scheduler sends
// this thread a signal, as it does after 10 ms and to collect garbage. Without a rate nothing is
// due, and the wait is longer than the kernel's tick: an earlier timer costs a seventh of the CPU
// time of a request to nginx.
const (
	spin        = 100 * time.Microsecond
	spinUnpaced = 5 * time.Millisecond
)

// wait waits for events and returns their number.
func (l *loop) wait(d time.Duration) int {
	if l.connecting.Load() == 0 {
		first := spin
		if l.work.run.plan.Rate == 0 {
			first = spinUnpaced
		}
		if n := l.poll(min(d, first), true); n > 0 || d <= first {
			return n
		}
		d -= first
	}
	return l.poll(d, false)
}

func (l *loop) poll(d time.Duration, short bool) int {
	limit := unix.NsecToTimespec(d.Nanoseconds())
	var n uintptr
	var errno unix.Errno
	if short {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	}
	if errno == unix.ENOSYS { // before Linux 5.11
		fds := []unix.PollFd{{Fd: int32(l.epoll), Events: unix.POLLIN}}
		_, _ = unix.Ppoll(fds, &limit, nil)
		ready, err := unix.EpollWait(l.epoll, l.events, 0)
		if err != nil {
			return 0
		}
		return ready
	}
	if errno != 0 { // interrupted
		return 0
	}
	return int(n)
}

// transfer sends or receives without blocking.
func transfer(call uintptr, fd int, data []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
