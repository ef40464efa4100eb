package link

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Where a thread's network namespace is found.
const ownNamespace = "/proc/thread-self/ns/net"

// inside does something on a thread that is in the end's namespace for so long. It must not start
// goroutines that make sockets.
func (e *End) inside(do func() error) error {
	if e == nil {
		return do()
	}
	target, err := os.Open(e.Namespace)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	defer target.Close()
	runtime.LockOSThread()
	home, err := os.Open(ownNamespace)
	if err == nil {
		defer home.Close()
		err = unix.Setns(int(target.Fd()), unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("link: enter the namespace %s: %w", e.Namespace, err)
	}
	err = do()
	if failed := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); failed != nil {
		return errors.Join(err, fmt.Errorf("link: leave the namespace: %w", failed)) // the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

func setCongestion(fd int, name string) error {
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
		return fmt.Errorf("link: cc=%s: this kernel does not give it: %w", name, err)
	}
	return nil
}

// host is a namespace with a device, seen from the process that carries packets.
type host struct {
	end       *End
	namespace *os.File
	device    int // file descriptor that packets are read from and written to
}

// newHost makes a namespace with one device of that address, in which nothing else is.
func newHost(ip string, s *Spec) (h *host, err error) {
	done := make(chan struct{})
	go func() { // whose thread, never unlocked, ends with it
		defer close(done)
		runtime.LockOSThread()
		h, err = makeHost(ip, s)
	}()
	<-done
	return h, err
}

func makeHost(ip string, s *Spec) (*host, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("a new network namespace: %w: run as root, or all of it as `unshare -Urn postage ...`", err)
	}
	namespace, err := os.Open(ownNamespace)
	if err != nil {
		return nil, err
	}
	device, err := newDevice(ip)
	if err != nil {
		return nil, fmt.Errorf("a TUN device: %w", err)
	}
	end := &End{fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), namespace.Fd()), ip, cmp.Or(s.Congestion, "cubic")}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	return &host{end, namespace, device}, setCongestion(socket, end.Congestion)
}

// deviceQueue is how many packets a device keeps for us, so that it need not drop any itself.
const deviceQueue = 10000

// newDevice makes a TUN device of the calling thread's namespace, which is there for as long as its
// file is open: see Documentation/networking/tuntap.rst of Linux.
func newDevice(ip string) (int, error) {
	device, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(socket)
	r, err := unix.NewIfreq("link0")
	if err != nil {
		return 0, err
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(device, unix.TUNSETIFF, r); err != nil {
		return 0, err
	}
	address := netip.MustParseAddr(ip).As4() // of our own
	for _, set := range []struct {
		what  uint
		value func() error
	}{
		{unix.SIOCSIFADDR, func() error { return r.SetInet4Addr(address[:]) }},
		{unix.SIOCSIFNETMASK, func() error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		{unix.SIOCSIFMTU, func() error { r.SetUint32(mtu); return nil }},
		{unix.SIOCSIFTXQLEN, func() error { r.SetUint32(deviceQueue); return nil }},
		{unix.SIOCSIFFLAGS, func() error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
	} {
		if err := set.value(); err != nil {
			return 0, err
		}
		err := unix.IoctlIfreq(socket, set.what, r)
		if set.what == unix.SIOCSIFTXQLEN && err == unix.EPERM {
			err = nil // in a user namespace it keeps 500; overrun counts what it drops
		}
		if err != nil {
			return 0, fmt.Errorf("set %#x: %w", set.what, err)
		}
	}
	return device, nil
}
