package greeter

import "time"

// stall waits out the rest of a standstill, if there is one now. Standstills begin at
// whole multiples of StallEvery since the Unix epoch, so that any other process knows
// when they are.
func (h *host) stall() {
	every, length := time.Duration(h.config.StallEvery)*time.Millisecond, time.Duration(h.config.Stall)*time.Millisecond
	if every <= 0 {
		return
	}
	since := time.Duration(time.Now().UnixNano()) % every
	if since < length {
		time.Sleep(length - since)
	}
}
