//go:build !linux

package load

import "time"

func sharpen() {}

func sleep(d time.Duration) { time.Sleep(d) }

// blunt undoes it.
func blunt() {}
