package webpush

import "time"

// WithClock gives a client a clock.
func (cfg Config) WithClock(now func() time.Time) Config {
	cfg.now = now
	return cfg
}
