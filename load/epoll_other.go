//go:build !linux

package load

import (
	"errors"
	"net"
	"time"
)

// hasLoops says whether loops have a poller here. Without one, net/http and grpc-go send.
const hasLoops = false

type poller struct{}

func newPoller() (*poller, error)                      { return nil, errors.ErrUnsupported }
func (*poller) adopt(net.Conn, *socket) (*wire, error) { return nil, errors.ErrUnsupported }
func (*poller) poll(time.Duration, bool) []event       { return nil }
func (*poller) wake()                                  {}
func (*poller) close()                                 {}

type wire struct{}

func (*wire) write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (*wire) read([]byte) (int, error)  { return 0, errors.ErrUnsupported }
func (*wire) await(bool) error          { return errors.ErrUnsupported }
func (*wire) close()                    {}

func slack(uintptr) {}

func sleep(d time.Duration) { time.Sleep(d) }
