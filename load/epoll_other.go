//go:build !linux

package load

import (
	"errors"
	"time"
)

// hasLoops says whether loops have a poller here. Without one, net/http and grpc-go send.
const hasLoops = false

func newPoller() (poller, error) { return nil, errors.ErrUnsupported }

func slack(uintptr) {}

func sleep(d time.Duration) { time.Sleep(d) }
