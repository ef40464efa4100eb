package webpush

import "time"

// WithClock gives a client a clock.
func (cfg Config) WithClock(now func() time.Time) Config {
	cfg.now = now
	return cfg
}

// The keys of a subscription.
const (
	TestP256dh = testP256dh
	TestAuth   = testAuth
)

// AsType is asType.
func AsType[T error](err error) (T, bool) { return asType[T](err) }

// AppendEncrypt seals now.
func (s *sealer) AppendEncrypt(dst, msg []byte, sub Subscription, padding Padding) ([]byte, error) {
	return s.appendEncrypt(dst, msg, sub, padding, time.Now())
}
