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

// An http1Loop is a line of many connections, which one thread serves: it waits for all of
// them, and for the time at which the next request is due, in one system call. A goroutine
// a connection costs two switches a request, and a pacer a third.
type http1Loop struct {
	target *Target
	dial   func(ctx context.Context) (net.Conn, error)
	take   func() http1Request
	conns  []*http1LoopConn
	epoll  int
	wakeFD int // an eventfd that ends the waiting

	// The rest is used by Serve alone.
	ctx     context.Context
	work    *Work
	free    []*http1LoopConn // a ring of those without a request, the longest free first
	first   int              // in free
	frees   int              // how many there are
	freed   time.Time        // when there was last one after there was none
	due     time.Time        // of the request that is next, if it is claimed
	claimed bool
	over    bool      // no more requests
	expires time.Time // when a request may have taken too long
	dials   int       // under way
	dialed  chan http1Dialed
	in      []byte
	events  []unix.EpollEvent
}

// An http1LoopConn is a connection, and the request on it.
type http1LoopConn struct {
	number  int
	fd      int   // -1 if there is no connection
	opened  int32 // how often one was made, to tell its events from the last one's
	busy    bool
	waits   bool // until it can be written
	kept    bool // the request was written on a connection that had been idle
	cut     bool // the server took no more of the request
	request http1Request
	rest    []byte // of the request, not yet written
	due     time.Time
	sent    time.Time
	idle    time.Time // since when there is no request
	answer  http1Answer
}

// http1Dialed is what came of making a connection.
type http1Dialed struct {
	conn *http1LoopConn
	fd   int
	err  error
}

// openHTTP1Loops adds loops to the pool, one a processor, if the connections can be served so.
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

// pacesItself says that the line waits for the time itself, and takes requests by Work.claim.
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

// connection makes a connection and takes it away from Go's own poller.
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

// adopt begins to wait for what comes on a connection.
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

// release puts a connection among the free ones.
func (l *http1Loop) release(c *http1LoopConn) {
	at := l.first + l.frees
	if at >= len(l.free) {
		at -= len(l.free)
	}
	l.free[at] = c
	l.frees++
}

// wake ends the waiting.
func (l *http1Loop) wake() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(l.wakeFD, one[:])
}

// Serve is a run's sender.
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

// patience is for how long there is nothing to do but what comes. It is short enough that an
// interruption is noticed.
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

// ended says whether the server has ended a connection on which nothing is under way. The
// loop is told that too, but maybe not before a request is written that cannot be repeated.
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

// woken takes the connections that were made.
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

// write writes as much of a request as the connection takes.
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
		default: // there may be an answer all the same, such as 413
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

// ready deals with what a connection is ready for, and says what time it is then.
func (l *http1Loop) ready(c *http1LoopConn, events uint32, now time.Time) time.Time {
	if !c.busy {
		l.drop(c) // the server has ended it, or says what nobody asked for
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
		// What follows the answer is none to the next request.
		if !c.answer.keep || c.cut || used != n || len(c.rest) > 0 {
			l.drop(c)
		}
		l.finish(c, now, c.answer.status, unsuccessful(c.answer.status))
	}
	return now
}

// fail ends a connection. Its request is sent again if the server cannot have taken it, or
// if that does not matter: RFC 9112 section 9.3.1.
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

// expire gives up the requests that have taken too long.
func (l *http1Loop) expire(now time.Time) {
	l.expires = now.Add(l.target.Timeout)
	for _, c := range l.conns {
		if !c.busy || c.fd < 0 { // a connection that is being made has a limit of its own
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

// giveUp ends all that is under way.
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

// spin is for how long the loop waits without telling Go's scheduler, which costs more than
// most answers take to come.
const spin = 100 * time.Microsecond

// wait waits for events and says how many there are.
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

// transfer sends or receives, without waiting.
func transfer(call uintptr, fd int, data []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
