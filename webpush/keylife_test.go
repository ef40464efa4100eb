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
		case *sharedKeys:
			if len(keys.kept) != 0 {
				t.Errorf("%s: a key kept after Close", reuse)
			}
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

// Of two messages that are sealed at the same time, the one that read the clock first may ask
// for the key last. It gets the same key: only a clock that was set back makes another.
func TestKeyIsAskedForOutOfOrder(t *testing.T) {
	now := time.Now()
	k := newSharedKeys(time.Hour, time.Now)
	defer k.close()
	first, err := k.get("x", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{100 * time.Millisecond, time.Minute} {
		same := step < time.Second
		if pair, err := k.get("x", now.Add(-step)); err != nil || (pair == first) != same {
			t.Errorf("%v before: %v, the same key: %v, want %v", step, err, pair == first, same)
		}
	}
}
