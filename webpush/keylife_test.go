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
			if n := keys.shards[0].len(); n != 0 {
				t.Errorf("%s: %d sessions kept after Close", reuse, n)
			}
		case *originKeys:
			keys.each(func(key *sharedKey) {
				if key.key != nil {
					t.Errorf("%s: a key kept after Close", reuse)
				}
			})
		}
	}
	s := newTestSealer(t, KeyPerBroadcast(), time.Now)
	b := s.forBroadcast()
	if _, err := b.AppendEncrypt(nil, w.message, w.subs[0], Padding{}); err != nil {
		t.Fatal(err)
	}
	s.close()
	if b.keys.(*broadcastKeys).key.key != nil {
		t.Error("a broadcast's key is kept after Close")
	}
}

// TestKeysDoNotOutliveTheirTTL waits for keys that nobody asks for any more.
func TestKeysDoNotOutliveTheirTTL(t *testing.T) {
	w := newWorkload(t)
	s := newTestSealer(t, SessionKeys(100*time.Millisecond, 10), time.Now)
	if _, err := s.AppendEncrypt(nil, w.message, w.subs[0], Padding{}); err != nil {
		t.Fatal(err)
	}
	shard := s.keys.(*sessionKeys).shards[0]
	for deadline := time.Now().Add(30 * time.Second); shard.len() != 0; time.Sleep(10 * time.Millisecond) {
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
	b := newTestSealer(t, KeyPerBroadcast(), c.now).forBroadcast()
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
