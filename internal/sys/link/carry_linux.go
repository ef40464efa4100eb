package link

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"postage/internal/sys/proc"
)

// The two addresses, of RFC 5737's first network for documentation.
const (
	nearIP = "192.0.2.1"
	farIP  = "192.0.2.2"
)

// carry makes a link that is there until the process ends.
func carry(s Spec) (near, far *End, counters func() Counters, err error) {
	a, err := newHost(nearIP, &s)
	if err != nil {
		return nil, nil, nil, err
	}
	b, err := newHost(farIP, &s)
	if err != nil {
		return nil, nil, nil, err
	}
	c := &carrier{hosts: [2]*host{a, b}, pipes: [2]*pipe{newPipe(s, 1), newPipe(s, 2)}, started: time.Now()}
	go c.run()
	return a.end, b.end, c.read, nil
}

// carrier carries packets between two hosts, on one thread. The thread waits for packets and for
// the time by the kernel's timers: Go's are late by up to a millisecond (golang/go#44343).
type carrier struct {
	started time.Time
	hosts   [2]*host
	pipes   [2]*pipe // pipes[0] takes from hosts[0]
	spare   [][]byte
	counted Counters

	mu  sync.Mutex
	say Counters // what was counted, for others
}

func (c *carrier) read() Counters {
	c.mu.Lock()
	now := c.say
	c.mu.Unlock()
	cpu, _ := proc.CPU()
	now.CPUNS = cpu.Nanoseconds()
	for _, h := range c.hosts {
		n, err := h.overrun()
		if err != nil {
			fmt.Fprintln(os.Stderr, "link:", err)
			os.Exit(1)
		}
		now.Overrun += n
	}
	return now
}

// overrun is how many packets the device dropped for want of room.
func (h *host) overrun() (n int64, err error) {
	err = h.end.inside(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			return err
		}
		_, after, _ := bytes.Cut(text, []byte("link0:"))
		fields := strings.Fields(string(after))
		if len(fields) < 12 {
			return fmt.Errorf("/proc/net/dev does not have the device: %q", text)
		}
		_, err = fmt.Sscan(fields[11], &n) // packets to be sent that were dropped
		return err
	})
	return n, err
}

func (c *carrier) run() {
	runtime.LockOSThread()
	c.first()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	fds := []unix.PollFd{{Fd: int32(c.hosts[0].device), Events: unix.POLLIN}, {Fd: int32(c.hosts[1].device), Events: unix.POLLIN}}
	for {
		wait, err := c.turn()
		if !c.publish() {
			wait = &unix.Timespec{Nsec: 1e5}
		}
		if err == nil {
			_, err = unix.Ppoll(fds, wait, nil)
		}
		if err != nil && err != unix.EINTR {
			fmt.Fprintln(os.Stderr, "link:", err)
			os.Exit(1)
		}
	}
}

// first has this thread come before all others of the machine: a busy machine must not be a slow
// network. It is promised a part of a processor, and what others of its kind leave of theirs
// (sched(7), SCHED_DEADLINE). By SCHED_FIFO, which is tried where that is refused, it would be late
// by up to 50 ms each second, which Linux keeps for ordinary threads. Without the right to either,
// Kept finds out whether it was late.
func (c *carrier) first() {
	const period, part = 500 * time.Microsecond, 0.03
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_DEADLINE, Flags: unix.SCHED_FLAG_RESET_ON_FORK | unix.SCHED_FLAG_RECLAIM,
		Runtime: uint64(part * float64(period)), Deadline: uint64(period), Period: uint64(period)}
	if unix.SchedSetAttr(0, &attr, 0) != nil {
		attr = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		_ = unix.SchedSetAttr(0, &attr, 0)
	}
}

// publish says what was counted. It does not wait for one who reads that: it has no priority, and
// would be a slow network too.
func (c *carrier) publish() bool {
	if !c.mu.TryLock() {
		return false
	}
	c.say = c.counted
	c.say.There, c.say.Back = c.pipes[0].Totals, c.pipes[1].Totals
	c.mu.Unlock()
	return true
}

// most is how many packets are taken from a device before the others get their turn.
const most = 64

// turn takes what there is, and delivers what is due. It returns how long there is nothing to do,
// nil for until a packet comes.
func (c *carrier) turn() (*unix.Timespec, error) {
	busy := false
	for i, p := range c.pipes {
		n, err := c.takeFrom(c.hosts[i].device, p)
		if err != nil {
			return nil, err
		}
		busy = busy || n == most
	}
	var wait *unix.Timespec
	for i, p := range c.pipes {
		next, err := c.deliver(c.hosts[1-i].device, p)
		if err != nil {
			return nil, err
		}
		if next >= 0 && (wait == nil || next.Nanoseconds() < wait.Nano()) {
			t := unix.NsecToTimespec(next.Nanoseconds())
			wait = &t
		}
	}
	if busy {
		wait = new(unix.Timespec)
	}
	return wait, nil
}

func (c *carrier) takeFrom(device int, p *pipe) (n int, err error) {
	for ; n < most; n++ {
		buffer := c.buffer()
		size, err := unix.Read(device, buffer[:cap(buffer)])
		if err != nil || size <= 0 {
			c.spare = append(c.spare, buffer)
			if err == unix.EAGAIN || err == unix.EINTR {
				return n, nil
			}
			return n, fmt.Errorf("read a packet: %w", err)
		}
		const ipv4 = 4 // the kernel itself says something by IPv6 now and then, which would draw losses
		if buffer[:size][0]>>4 != ipv4 || !p.take(time.Since(c.started), buffer[:size]) {
			c.spare = append(c.spare, buffer)
		}
	}
	return n, nil
}

// deliver writes the packets that are due and returns for how long there is none, below 0 without
// any.
func (c *carrier) deliver(device int, p *pipe) (time.Duration, error) {
	for range most {
		arrival, some := p.next()
		if !some {
			return -1, nil
		}
		now := time.Since(c.started)
		if arrival > now {
			return arrival - now, nil
		}
		a := p.arrive()
		if !a.lost {
			if _, err := unix.Write(device, a.data); err != nil {
				return 0, fmt.Errorf("write a packet: %w", err)
			}
			c.counted.late(now - a.arrival)
		}
		c.spare = append(c.spare, a.data)
	}
	return 0, nil
}

// buffer is for a packet.
func (c *carrier) buffer() []byte {
	if last := len(c.spare) - 1; last >= 0 {
		b := c.spare[last]
		c.spare = c.spare[:last]
		return b
	}
	return make([]byte, 0, 2*mtu)
}
