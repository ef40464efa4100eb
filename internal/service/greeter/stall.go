package greeter

import "time"

// stall waits until the current pause ends, if there is one. Pauses begin at multiples of
// StallEvery since the Unix epoch, so other processes know when they begin.
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
