package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A poller waits in one system call of epoll for all of a loop's connections, and until the next
// request is due. A goroutine for each connection would cost two context switches a request.
type poller struct {
	fd, wakeFD int // the second is an eventfd
	raw        []unix.EpollEvent
	events     []event
}

// hasLoops says whether loops have a poller here.
const hasLoops = true

func newPoller() (_ *poller, err error) {
	p := &poller{fd: -1, wakeFD: -1, raw: make([]unix.EpollEvent, pollMost)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if p.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}
	return p, os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, p.wakeFD, &event))
}

func (p *poller) close() {
	for _, fd := range []*int{&p.fd, &p.wakeFD} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// wake makes poll return an event without a socket. Other goroutines may call it.
func (p *poller) wake() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(p.wakeFD, one[:])
}

// adopt takes a connection away from Go's network poller. Its events carry the socket's number, and
// how often the socket was opened.
func (p *poller) adopt(conn net.Conn, s *socket) (*wire, error) {
	defer conn.Close()
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection is of type %T", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var failed error
	err = raw.Control(func(from uintptr) { fd, failed = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", failed)); err != nil {
		return nil, err
	}
	w := &wire{p, fd, unix.EpollEvent{Fd: int32(s.number), Pad: s.opened}}
	if err := w.control(unix.EPOLL_CTL_ADD, unix.EPOLLIN); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// poll waits for events for at most d. If that is short, Go's scheduler is not told.
func (p *poller) poll(d time.Duration, short bool) []event {
	limit := unix.NsecToTimespec(d.Nanoseconds())
	var n uintptr
	var errno unix.Errno
	if short {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.raw[0])), uintptr(len(p.raw)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.raw[0])), uintptr(len(p.raw)), uintptr(unsafe.Pointer(&limit)), 0, 0)
	}
	if errno == unix.ENOSYS || errno == unix.EPERM { // before Linux 5.11, or a sandbox that is older
		fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		_, _ = unix.Ppoll(fds, &limit, nil)
		ready, err := unix.EpollWait(p.fd, p.raw, 0)
		n, errno = uintptr(max(ready, 0)), 0
		if err != nil {
			n = 0
		}
	}
	if p.events = p.events[:0]; errno != 0 { // interrupted
		return nil
	}
	for _, e := range p.raw[:n] {
		if e.Fd < 0 {
			var count [8]byte
			_, _ = unix.Read(p.wakeFD, count[:])
		}
		p.events = append(p.events, event{e.Fd, e.Pad, e.Events&^unix.EPOLLOUT != 0, e.Events&unix.EPOLLOUT != 0})
	}
	return p.events
}

// A wire is a connection that never makes its loop wait.
type wire struct {
	poller *poller
	fd     int
	event  unix.EpollEvent
}

func (w *wire) control(how int, events uint32) error {
	w.event.Events = events
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.poller.fd, how, w.fd, &w.event))
}

// await says whether the poller waits for the connection to become writable.
func (w *wire) await(writable bool) error {
	if writable {
		return w.control(unix.EPOLL_CTL_MOD, unix.EPOLLIN|unix.EPOLLOUT)
	}
	return w.control(unix.EPOLL_CTL_MOD, unix.EPOLLIN)
}

func (w *wire) close() { _ = unix.Close(w.fd) }

// write writes as much as the connection accepts.
func (w *wire) write(data []byte) (n int, err error) {
	for n < len(data) {
		more, errno := transfer(unix.SYS_SENDTO, w.fd, data[n:], unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			n += more
		case unix.EINTR:
		case unix.EAGAIN:
			return n, nil
		default:
			return n, os.NewSyscallError("write", errno)
		}
	}
	return n, nil
}

// read reads what has come. It returns 0 if nothing has, and io.EOF at the end.
func (w *wire) read(into []byte) (n int, err error) {
	n, errno := transfer(unix.SYS_RECVFROM, w.fd, into, unix.MSG_DONTWAIT)
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

func transfer(call uintptr, fd int, data []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// slack is how late the kernel may wake this thread, in ns: 0 restores its default, which is 50 us.
func slack(ns uintptr) { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, ns, 0, 0, 0) }

func sleep(d time.Duration) {
	spec := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&spec, nil)
}
