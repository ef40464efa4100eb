package webpush

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"postage/webpush/receiver"
)

// A testSigner signs by a clock.
type testSigner struct {
	*signer
	now func() time.Time
}

// newTestSigner makes a signer with new keys, unless there is a ring.
func newTestSigner(t testing.TB, ring *KeyRing, now func() time.Time) testSigner {
	t.Helper()
	var err error
	if ring == nil {
		if ring, err = NewKeyRing(newKeys(t)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := newSigner(ring, "mailto:ops@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return testSigner{s, now}
}

func subscriptionAt(t testing.TB, endpoint string, options ...SubscriptionOption) Subscription {
	t.Helper()
	sub, err := NewSubscription(endpoint, testP256dh, testAuth, options...)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func authorize(t testing.TB, s testSigner, sub Subscription) string {
	t.Helper()
	var h Header
	if err := s.authorize(&h, sub.Origin(), s.candidates(sub)[0], s.now()); err != nil {
		t.Fatal(err)
	}
	return h.Authorization
}

func TestTokenIsKeptAndRenewed(t *testing.T) {
	clock := newClock()
	s := newTestSigner(t, nil, clock.now)
	a, b := subscriptionAt(t, "https://a.example/1"), subscriptionAt(t, "https://a.example:443/2")
	first := authorize(t, s, a)
	if authorize(t, s, b) != first || s.signatures.Load() != 1 {
		t.Error("two endpoints of an origin do not share a token")
	}
	if authorize(t, s, subscriptionAt(t, "https://b.example/1")) == first {
		t.Error("two origins share a token")
	}
	clock.add(10*time.Hour + 59*time.Minute)
	if authorize(t, s, a) != first {
		t.Error("renewed before it was due")
	}
	clock.add(2 * time.Minute)
	if authorize(t, s, a) == first {
		t.Error("not renewed an hour before its end")
	}
}

// TestTokenRate sends for two days, every minute: what is sent is always valid,
// and no origin sees a new token more than once an hour.
func TestTokenRate(t *testing.T) {
	t.Parallel()
	step := 5 * time.Minute
	if os.Getenv("POSTAGE_LONG") != "" {
		step = time.Minute
	}
	clock := newClock()
	s := newTestSigner(t, nil, clock.now)
	sub := subscriptionAt(t, "https://a.example/1")
	var last string
	var signed time.Time
	for range 48 * time.Hour / step {
		header := authorize(t, s, sub)
		if header != last {
			if gap := clock.now().Sub(signed); gap < time.Hour {
				t.Errorf("a new token after %s", gap)
			}
			last, signed = header, clock.now()
			if _, err := receiver.VerifyVAPID(header, "https://a.example", clock.now()); err != nil {
				t.Errorf("%v", err)
			}
		}
		if _, err := receiver.VerifyVAPID(last, "https://a.example", clock.now().Add(30*time.Second)); err != nil {
			t.Fatalf("%v", err)
		}
		clock.add(step)
	}
}

// TestClockJumps moves the clock by every kind of jump: what is sent is valid
// after each, and small steps cost no signature.
func TestClockJumps(t *testing.T) {
	clock := newClock()
	s := newTestSigner(t, nil, clock.now)
	sub := subscriptionAt(t, "https://a.example/1")
	for _, jump := range []time.Duration{
		0, -time.Second, time.Second, -time.Hour, 30 * time.Hour, -30 * time.Hour, 365 * 24 * time.Hour,
		-365 * 24 * time.Hour, 12*time.Hour - time.Second, -11 * time.Hour, -2 * time.Hour, -13 * time.Hour,
	} {
		clock.add(jump)
		if _, err := receiver.VerifyVAPID(authorize(t, s, sub), "https://a.example", clock.now()); err != nil {
			t.Errorf("after a jump of %s: %v", jump, err)
		}
	}
	before := s.signatures.Load()
	for _, step := range []time.Duration{-5 * time.Minute, 7 * time.Minute, -3 * time.Minute} {
		clock.add(step)
		authorize(t, s, sub)
	}
	if n := s.signatures.Load() - before; n != 0 {
		t.Errorf("%d signatures for clock steps of minutes", n)
	}
}

// TestSigningIsShared has many senders need the same token at once.
func TestSigningIsShared(t *testing.T) {
	clock := newClock()
	s := newTestSigner(t, nil, clock.now)
	for round := range 3 {
		var wg sync.WaitGroup
		for i := range 64 {
			sub := subscriptionAt(t, fmt.Sprintf("https://o%d.example/%d", i%4, i))
			wg.Go(func() { authorize(t, s, sub) })
		}
		wg.Wait()
		if n := s.signatures.Load(); n != int64(4*(round+1)) {
			t.Errorf("round %d: %d signatures in all, want %d", round, n, 4*(round+1))
		}
		clock.add(12 * time.Hour) // expired: all need the new one
	}
}

// TestSigningStallsNobodyElse holds the lock of one origin, as a signature would, and sends to
// another.
func TestSigningStallsNobodyElse(t *testing.T) {
	s := newTestSigner(t, nil, newClock().now)
	slot := s.tokens.get(tokenID{"https://a.example", s.keys.Current()}, 0)
	slot.mu.Lock()
	defer slot.mu.Unlock()
	done := make(chan struct{})
	go func() {
		authorize(t, s, subscriptionAt(t, "https://b.example/1"))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a sender waited for another's signature")
	}
}

func TestTokensAreBounded(t *testing.T) {
	s := newTestSigner(t, nil, time.Now)
	s.tokens = newTable[tokenID, tokenSlot](5)
	for i := range 50 {
		authorize(t, s, subscriptionAt(t, fmt.Sprintf("https://o%d.example/", i)))
	}
	if n := len(s.tokens.entries); n != 5 {
		t.Errorf("%d tokens kept, want 5", n)
	}
}

func TestSignerPicksTheKey(t *testing.T) {
	old, current, lost := newKeys(t), newKeys(t), newKeys(t)
	ring, err := NewKeyRing(current, old)
	if err != nil {
		t.Fatal(err)
	}
	s := newTestSigner(t, ring, time.Now)
	for key, want := range map[*VAPIDKeys]*VAPIDKeys{old: old, current: current, lost: current} {
		header := authorize(t, s, subscriptionAt(t, "https://a.example/", WithServerKey(key.PublicKey())))
		if !strings.HasSuffix(header, ", k="+want.PublicKey()) {
			t.Errorf("signed by another key: %s", header[len(header)-90:])
		}
	}
}

func TestNewSignerRefuses(t *testing.T) {
	for name, keys := range map[string]*KeyRing{"no keys": nil, "empty ring": new(KeyRing)} {
		if _, err := newSigner(keys, "mailto:a@b.example.com"); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
