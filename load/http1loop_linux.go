package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An http1Loop is a line of many connections served by one thread. In one system call it waits for
// all of them and for the time at which the next request is due. One goroutine for each connection
// would cost two context switches a request, and a pacer a third.
type http1Loop struct {
	target *Target
	dial   func(ctx context.Context) (net.Conn, error)
	take   func() http1Request
	conns  []*http1LoopConn
	epoll  int
	wakeFD int // an eventfd that wakes the loop

	// The rest is used by Serve only.
	ctx     context.Context
	work    *Work
	free    []*http1LoopConn // a ring of the connections without a request, longest idle first
	first   int              // the index in free of the first
	frees   int              // their number
	freed   time.Time        // when one last became free after none was
	due     time.Time        // when the next request is due, if one is claimed
	claimed bool
	over    bool      // no more requests
	expires time.Time // when to look for requests that take too long
	dials   int       // connections that are being made
	dialed  chan http1Dialed
	in      []byte
	events  []unix.EpollEvent
}

// An http1LoopConn is a connection and its request.
type http1LoopConn struct {
	number  int
	fd      int   // -1 if there is no connection
	opened  int32 // how many connections were made, to tell its events from those of earlier ones
	busy    bool
	waits   bool // for the connection to become writable
	kept    bool // the request was written on a connection that had been idle
	cut     bool // the server took no more of the request
	request http1Request
	rest    []byte // the part of the request that is not written yet
	due     time.Time
	sent    time.Time
	idle    time.Time // since when it has had no request
	answer  http1Answer
}

// http1Dialed is the outcome of making a connection.
type http1Dialed struct {
	conn *http1LoopConn
	fd   int
	err  error
}

// openHTTP1Loops adds loops to the pool, one for each processor, if they can serve the target.
func openHTTP1Loops(t *Target, p *Pool, take func() http1Request) (ok bool, err error) {
	if t.secure() || t.portable {
		return false, nil
	}
	loops := min(runtime.GOMAXPROCS(0), t.Conns)
	for i := range loops {
		l := &http1Loop{target: t, dial: t.dial("http/1.1"), take: take, epoll: -1, wakeFD: -1, in: make([]byte, 64<<10), events: make([]unix.EpollEvent, 64)}
		p.Lines = append(p.Lines, l)
		p.closers = append(p.closers, l.Close)
		for n := i; n < t.Conns; n += loops {
			l.conns = append(l.conns, &http1LoopConn{number: len(l.conns), fd: -1})
		}
		l.dialed = make(chan http1Dialed, len(l.conns))
		l.free = make([]*http1LoopConn, len(l.conns))
		for _, c := range l.conns {
			l.release(c)
		}
		if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return false, os.NewSyscallError("epoll_create1", err)
		}
		if l.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return false, os.NewSyscallError("eventfd", err)
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wakeFD, &event); err != nil {
			return false, os.NewSyscallError("epoll_ctl", err)
		}
	}
	return true, nil
}

// pacesItself says that the line itself waits for requests to be due, and takes them by Work.claim.
func (l *http1Loop) pacesItself() {}

// Close ends all connections.
func (l *http1Loop) Close() error {
	for _, c := range l.conns {
		l.drop(c)
	}
	for _, fd := range []*int{&l.epoll, &l.wakeFD} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	return nil
}

// Connect makes all connections.
func (l *http1Loop) Connect(ctx context.Context) error {
	turn := make(chan struct{}, connectors)
	var group sync.WaitGroup
	for _, c := range l.conns {
		if c.fd >= 0 || ctx.Err() != nil {
			continue
		}
		turn <- struct{}{}
		group.Go(func() {
			defer func() { <-turn }()
			if fd, err := l.connection(ctx); err == nil {
				_ = l.adopt(c, fd)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// connection makes a connection and takes it away from Go's network poller.
func (l *http1Loop) connection(ctx context.Context) (fd int, err error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return -1, err
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return -1, fmt.Errorf("a connection is of type %T", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = raw.Control(func(from uintptr) { fd, failed = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return -1, err
	}
	return fd, nil
}

// adopt adds a connection to those that the loop waits for.
func (l *http1Loop) adopt(c *http1LoopConn, fd int) error {
	c.opened++
	c.fd, c.waits, c.idle = fd, false, time.Now()
	if err := l.watch(c, unix.EPOLL_CTL_ADD); err != nil {
		l.drop(c)
		return err
	}
	return nil
}

func (l *http1Loop) watch(c *http1LoopConn, how int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.number), Pad: c.opened}
	if c.waits {
		event.Events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, how, c.fd, &event))
}

// drop ends a connection.
func (l *http1Loop) drop(c *http1LoopConn) {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
}

// release adds a connection to the free ones.
func (l *http1Loop) release(c *http1LoopConn) {
	at := l.first + l.frees
	if at >= len(l.free) {
		at -= len(l.free)
	}
	l.free[at] = c
	l.frees++
}

// wake wakes the loop.
func (l *http1Loop) wake() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(l.wakeFD, one[:])
}

// Serve sends a run's requests.
func (l *http1Loop) Serve(ctx context.Context, w *Work) {
	runtime.LockOSThread()
	sharpen()
	defer func() {
		blunt()
		runtime.UnlockOSThread()
	}()
	defer context.AfterFunc(ctx, l.wake)()
	now := time.Now()
	l.ctx, l.work, l.freed, l.over, l.claimed = ctx, w, now, false, false
	l.expires = now.Add(l.target.Timeout)
	for {
		l.fill(now)
		if ctx.Err() != nil {
			l.giveUp(ctx.Err())
			return
		}
		if l.over && l.frees == len(l.conns) {
			return
		}
		n := l.wait(l.patience(now))
		now = time.Now()
		for _, event := range l.events[:n] {
			if event.Fd < 0 {
				l.woken(now)
				continue
			}
			if c := l.conns[event.Fd]; c.fd >= 0 && c.opened == event.Pad {
				now = l.ready(c, event.Events, now)
				l.fill(now)
			}
		}
		if l.target.Timeout > 0 && !now.Before(l.expires) {
			l.expire(now)
		}
	}
}

// fill sends the requests that are due while connections are free.
func (l *http1Loop) fill(now time.Time) {
	for !l.over && l.frees > 0 {
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
		c := l.free[l.first]
		if l.first++; l.first == len(l.free) {
			l.first = 0
		}
		l.frees--
		l.begin(c, due, now)
	}
}

// patience is how long the loop waits when only answers can come. It is short enough to notice an
// interruption.
func (l *http1Loop) patience(now time.Time) time.Duration {
	d := 50 * time.Millisecond
	if l.claimed {
		d = min(d, l.due.Sub(now))
	}
	if l.target.Timeout > 0 && l.frees < len(l.conns) {
		d = min(d, l.expires.Sub(now))
	}
	return max(d, 0)
}

// begin sends a request.
func (l *http1Loop) begin(c *http1LoopConn, due, now time.Time) {
	c.busy, c.due, c.request = true, due, l.take()
	if c.fd >= 0 && !c.request.again && now.Sub(c.idle) > quiet && l.ended(c) {
		l.drop(c)
	}
	c.kept = c.fd >= 0
	l.send(c, now)
}

// ended reports whether the server has ended an idle connection. The loop gets an event for that
// too, but perhaps only after it has written a request that cannot be repeated.
func (l *http1Loop) ended(c *http1LoopConn) bool {
	var one [1]byte
	_, _, err := unix.Recvfrom(c.fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != unix.EAGAIN && err != unix.EINTR
}

// send sends a request, over a new connection if there is none.
func (l *http1Loop) send(c *http1LoopConn, now time.Time) {
	c.answer.reset(c.request.head)
	c.rest, c.cut, c.sent = c.request.request, false, now
	if c.fd >= 0 {
		l.write(c, now)
		return
	}
	l.dials++
	ctx := l.ctx
	go func() {
		fd, err := l.connection(ctx)
		l.dialed <- http1Dialed{c, fd, err}
		l.wake()
	}()
}

// woken takes in the connections that were made.
func (l *http1Loop) woken(now time.Time) {
	var count [8]byte
	_, _ = unix.Read(l.wakeFD, count[:])
	for {
		select {
		case d := <-l.dialed:
			l.dials--
			if d.err == nil {
				d.err = l.adopt(d.conn, d.fd)
			}
			if d.err != nil {
				l.finish(d.conn, now, 0, d.err)
			} else {
				d.conn.sent = now
				l.write(d.conn, now)
			}
			l.fill(now)
		default:
			return
		}
	}
}

// write writes as much of a request as the connection accepts.
func (l *http1Loop) write(c *http1LoopConn, now time.Time) {
	for len(c.rest) > 0 {
		n, errno := transfer(unix.SYS_SENDTO, c.fd, c.rest, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			if !c.waits {
				c.waits = true
				if err := l.watch(c, unix.EPOLL_CTL_MOD); err != nil {
					l.fail(c, now, err)
				}
			}
			return
		case errno == 0:
			c.rest = c.rest[n:]
		case !gone(errno):
			l.fail(c, now, os.NewSyscallError("write", errno))
			return
		case len(c.rest) == len(c.request.request):
			l.fail(c, now, errUnsent)
			return
		default: // there may still be an answer, such as 413
			c.cut, c.rest = true, nil
		}
	}
	if c.waits {
		c.waits = false
		if err := l.watch(c, unix.EPOLL_CTL_MOD); err != nil {
			l.fail(c, now, err)
		}
	}
}

// ready handles the events of a connection, and returns the current time.
func (l *http1Loop) ready(c *http1LoopConn, events uint32, now time.Time) time.Time {
	if !c.busy {
		l.drop(c) // the server has ended it, or sent something unasked
		return now
	}
	if events&unix.EPOLLOUT != 0 && c.waits {
		if l.write(c, now); c.fd < 0 {
			return now
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return now
	}
	n, errno := transfer(unix.SYS_RECVFROM, c.fd, l.in, unix.MSG_DONTWAIT)
	now = time.Now()
	used, whole := 0, false
	var err error
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return now
	case errno != 0:
		_, err = c.answer.end(os.NewSyscallError("read", errno))
	case n == 0:
		if whole, err = c.answer.end(io.EOF); whole {
			c.cut = true
		}
	default:
		used, whole, err = c.answer.feed(l.in[:n])
	}
	if err != nil {
		l.fail(c, now, err)
	} else if whole {
		// What follows the answer does not answer the next request.
		if !c.answer.keep || c.cut || used != n || len(c.rest) > 0 {
			l.drop(c)
		}
		l.finish(c, now, c.answer.status, unsuccessful(c.answer.status))
	}
	return now
}

// fail ends a connection. Its request is sent again if the server cannot have received it, or if it
// may be sent twice: RFC 9112 section 9.3.1.
func (l *http1Loop) fail(c *http1LoopConn, now time.Time, err error) {
	l.drop(c)
	if c.kept && l.ctx.Err() == nil && (errors.Is(err, errUnsent) || c.request.again && errors.Is(err, errGone)) {
		c.kept = false
		l.send(c, now)
		return
	}
	l.finish(c, now, 0, err)
}

// finish ends a request.
func (l *http1Loop) finish(c *http1LoopConn, now time.Time, status int, err error) {
	c.busy, c.idle, c.rest = false, now, nil
	if l.frees == 0 {
		l.freed = now
	}
	l.release(c)
	l.work.Done(c.due, now, status, err)
}

// expire gives up requests that have taken too long.
func (l *http1Loop) expire(now time.Time) {
	l.expires = now.Add(l.target.Timeout)
	for _, c := range l.conns {
		if !c.busy || c.fd < 0 { // making a connection has a limit of its own
			continue
		}
		if until := c.sent.Add(l.target.Timeout); !until.After(now) {
			l.drop(c)
			l.finish(c, now, 0, l.target.late("answer"))
		} else if until.Before(l.expires) {
			l.expires = until
		}
	}
}

// giveUp ends all requests under way.
func (l *http1Loop) giveUp(why error) {
	now := time.Now()
	for ; l.dials > 0; l.dials-- {
		if d := <-l.dialed; d.err == nil {
			_ = unix.Close(d.fd)
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
	for _, c := range l.conns {
		if c.busy {
			l.drop(c)
			l.finish(c, now, 0, why)
		}
	}
}

// spin is how long the loop waits without telling Go's scheduler. Telling it costs more than the
// time that most answers take.
const spin = 100 * time.Microsecond

// wait waits for events and returns their number.
func (l *http1Loop) wait(d time.Duration) int {
	if l.dials == 0 {
		if n := l.poll(min(d, spin), true); n > 0 || d <= spin {
			return n
		}
		d -= spin
	}
	return l.poll(d, false)
}

func (l *http1Loop) poll(d time.Duration, short bool) int {
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
