package webpush

import (
	"testing"
	"time"
)

// TestKeysDoNotOutliveClose has a message agree on keys at the moment at which the
// sealer is closed: it passed the check before, and reaches the cache after.
func TestKeysDoNotOutliveClose(t *testing.T) {
	w := newWorkload(t)
	for _, reuse := range []Reuse{SessionKeys(time.Hour, 10), SharedKey(time.Hour)} {
		s := newTestSealer(t, reuse, time.Now)
		s.close()
		schedule := getSchedule()
		_ = s.keys.agree(schedule, w.subs[0], time.Now())
		schedule.release()
		switch keys := s.keys.(type) {
		case *sessionKeys:
			if n := len(keys.numbers); n != 0 {
				t.Errorf("%s: %d sessions kept after Close", reuse, n)
			}
		case sharedKeys:
			if len(keys.kept) != 0 {
				t.Errorf("%s: a key kept after Close", reuse)
			}
		}
	}
	for name, finish := range map[string]func(s *sealer, end func()){
		"the broadcast": func(_ *sealer, end func()) { end() }, "Close": func(s *sealer, _ func()) { s.close() },
	} {
		s := newTestSealer(t, KeyPerBroadcast(), time.Now)
		b, end := s.forBroadcast()
		if _, err := b.AppendEncrypt(nil, w.message, w.subs[0], Padding{}); err != nil {
			t.Fatal(err)
		}
		if finish(s, end); len(b.keys.(sharedKeys).kept) != 0 {
			t.Errorf("a broadcast's key is kept after %s", name)
		}
	}
}

// TestKeysDoNotOutliveTheirTTL waits for keys that nobody asks for any more.
func TestKeysDoNotOutliveTheirTTL(t *testing.T) {
	w := newWorkload(t)
	s := newTestSealer(t, SessionKeys(100*time.Millisecond, 10), time.Now)
	if _, err := s.AppendEncrypt(nil, w.message, w.subs[0], Padding{}); err != nil {
		t.Fatal(err)
	}
	keys := s.keys.(*sessionKeys)
	left := func() int {
		keys.mu.Lock()
		defer keys.mu.Unlock()
		return len(keys.numbers)
	}
	for deadline := time.Now().Add(30 * time.Second); left() != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the session is kept")
		}
	}
	if maxSweepInterval > time.Minute {
		t.Errorf("a key may outlive its ttl by %s", maxSweepInterval)
	}
}

// TestEndlessBroadcastKey seals for longer than a broadcast's key may live.
func TestEndlessBroadcastKey(t *testing.T) {
	w, c := newWorkload(t), newClock()
	b, _ := newTestSealer(t, KeyPerBroadcast(), c.now).forBroadcast()
	keys := make(map[string]int)
	for range 30 { // five hours
		body, err := b.appendEncrypt(nil, w.message, w.subs[0], Padding{}, c.now())
		if err != nil {
			t.Fatal(err)
		}
		keys[senderKey(body)]++
		c.add(10 * time.Minute)
	}
	if len(keys) != 5 {
		t.Errorf("%d keys in five hours, want one an hour", len(keys))
	}
}

// Of two messages that are sealed at the same time, the one that read the clock first may ask
// for the key last. It gets the same key: only a clock that was set back makes another.
func TestKeyIsAskedForOutOfOrder(t *testing.T) {
	now := time.Now()
	k := newKeyPairs(time.Hour, time.Now)
	defer k.close()
	first, err := k.get("x", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, back := range []time.Duration{100 * time.Millisecond, time.Minute} {
		same := back < time.Second
		if pair, err := k.get("x", now.Add(-back)); err != nil || (pair == first) != same {
			t.Errorf("%v before: %v, the same key: %v, want %v", back, err, pair == first, same)
		}
	}
}
