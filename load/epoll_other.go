//go:build !linux

package load

import "time"

func newPoller(bool) (poller, error) { return newPipes(), nil }

func sharpen() {}

func sleep(d time.Duration) { time.Sleep(d) }

// blunt undoes it.
func blunt() {}
