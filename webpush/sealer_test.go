package webpush

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postage/webpush/receiver"
)

var allModes = []Reuse{{}, SharedKey(time.Hour), SessionKeys(time.Hour, 100)}

func newTestSealer(t testing.TB, r Reuse, now func() time.Time) *sealer {
	t.Helper()
	s, err := newSealer(r, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

// TestReceiverOpensEveryMode has the independent receiver open messages of
// every mode, length and padding.
func TestReceiverOpensEveryMode(t *testing.T) {
	w := newWorkload(t)
	paddings := map[string]Padding{"none": Padding{}, "1": PadToBlock(1), "128": PadToBlock(128), "4096": PadToBlock(3994)}
	for _, mode := range allModes {
		s := newTestSealer(t, mode, time.Now)
		for name, padding := range paddings {
			for _, length := range []int{0, 1, 126, 127, 128, 365, 3992, MaxMessageBytes} {
				message := make([]byte, length)
				rand.Read(message)
				given := bytes.Clone(message)
				body, err := s.AppendEncrypt([]byte("prefix"), message, w.subs[1], padding)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(message, given) {
					t.Errorf("%s: the message was written to", mode)
				}
				body, ok := bytes.CutPrefix(body, []byte("prefix"))
				if got, err := w.receivers[1].Open(body); !ok || err != nil || !bytes.Equal(got, message) {
					t.Errorf("%s, padding %s, %d bytes: %v", mode, name, length, err)
				}
				checkBodyLength(t, name, length, len(body))
			}
		}
	}
}

func checkBodyLength(t *testing.T, padding string, message, body int) {
	t.Helper()
	want := message + OverheadBytes
	switch padding {
	case "128":
		want = min((message+1+127)/128*128, maxPlaintextBytes) + headerBytes + tagBytes
	case "4096":
		want = MaxBodyBytes
	}
	if body != want {
		t.Errorf("padding %s, message of %d bytes: body of %d, want %d", padding, message, body, want)
	}
}

func TestAppendEncryptRefuses(t *testing.T) {
	w, s := newWorkload(t), newTestSealer(t, Reuse{}, time.Now)
	dst := []byte("kept")
	for name, seal := range map[string]func() ([]byte, error){
		"too long":        func() ([]byte, error) { return s.AppendEncrypt(dst, make([]byte, 3994), w.subs[0], Padding{}) },
		"block of 0":      func() ([]byte, error) { return s.AppendEncrypt(dst, nil, w.subs[0], PadToBlock(0)) },
		"block below 0":   func() ([]byte, error) { return s.AppendEncrypt(dst, nil, w.subs[0], PadToBlock(-5)) },
		"block of 3995":   func() ([]byte, error) { return s.AppendEncrypt(dst, nil, w.subs[0], PadToBlock(3995)) },
		"no subscription": func() ([]byte, error) { return s.AppendEncrypt(dst, nil, Subscription{}, Padding{}) },
	} {
		if got, err := seal(); err == nil || string(got) != "kept" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	_, err := s.AppendEncrypt(nil, make([]byte, MaxMessageBytes+1), w.subs[0], Padding{})
	if size, ok := asType[*MessageSizeError](err); !ok || size.Bytes != 3994 || !errors.Is(err, TooLarge) {
		t.Errorf("one byte too long: %v", err)
	}
	s.close()
	s.close()
	if _, err := s.AppendEncrypt(nil, nil, w.subs[0], Padding{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestAppendEncryptInPlace has the message lie where its body is written.
func TestAppendEncryptInPlace(t *testing.T) {
	w, s := newWorkload(t), newTestSealer(t, Reuse{}, time.Now)
	buffer := make([]byte, 0, MaxBodyBytes)
	message := append(buffer, "in the way of the header"...)
	body, err := s.AppendEncrypt(buffer, message, w.subs[0], Padding{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.receivers[0].Open(body); err != nil || string(got) != "in the way of the header" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReuseChecks(t *testing.T) {
	for _, r := range []Reuse{
		SharedKey(0), SharedKey(-1), SharedKey(25 * time.Hour), SessionKeys(0, 1), SessionKeys(time.Hour, 0),
		SessionKeys(time.Hour, -1), SessionKeys(48*time.Hour, 1),
	} {
		if _, err := newSealer(r, time.Now); err == nil {
			t.Errorf("%s: accepted", r)
		}
	}
}

// senderKey is the key id of a body: the sender's public key.
func senderKey(body []byte) string { return string(body[saltBytes+5 : headerBytes]) }

// TestKeysLive checks how long each mode keeps a key, on a clock that also jumps.
func TestKeysLive(t *testing.T) {
	w := newWorkload(t)
	fcm, fcm2, mozilla := w.subs[0], w.subs[1], w.subs[5]
	for _, c := range []struct {
		reuse                              Reuse
		sameSub, sameOrigin, anotherOrigin bool // is the key shared?
	}{
		{Reuse{}, false, false, false},
		{SharedKey(time.Hour), true, true, false},
		{SessionKeys(time.Hour, 10), true, false, false},
	} {
		t.Run(c.reuse.String(), func(t *testing.T) {
			clock := newClock()
			s := newTestSealer(t, c.reuse, clock.now)
			seal := func(sub Subscription) string {
				body, err := s.appendEncrypt(nil, []byte("x"), sub, Padding{}, clock.now())
				if err != nil {
					t.Fatal(err)
				}
				return senderKey(body)
			}
			first := seal(fcm)
			clock.add(59 * time.Minute)
			for name, check := range map[string]struct {
				sub  Subscription
				want bool
			}{"same subscription": {fcm, c.sameSub}, "same origin": {fcm2, c.sameOrigin}, "another origin": {mozilla, c.anotherOrigin}} {
				if got := seal(check.sub) == first; got != check.want {
					t.Errorf("%s: key shared is %v, want %v", name, got, check.want)
				}
			}
			clock.add(time.Minute)
			if seal(fcm) == first {
				t.Error("the key outlived its hour")
			}
			second := seal(fcm)
			clock.add(-2 * time.Hour)
			if seal(fcm) == second {
				t.Error("after the clock was set back a key from the future is used")
			}
		})
	}
}

// TestSubscribedAgain: the same endpoint with new keys never meets the old session.
func TestSubscribedAgain(t *testing.T) {
	s := newTestSealer(t, SessionKeys(time.Hour, 10), time.Now)
	for range 3 {
		r, err := receiver.Generate()
		if err != nil {
			t.Fatal(err)
		}
		text, err := r.SubscriptionJSON("https://push.example/same")
		if err != nil {
			t.Fatal(err)
		}
		sub, err := ParseSubscription(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			body, err := s.AppendEncrypt(nil, []byte("hello"), sub, Padding{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.Open(body); err != nil || string(got) != "hello" {
				t.Errorf("%q, %v", got, err)
			}
		}
	}
}

// TestSessionOfAnother puts another subscription's session where one's own would be,
// as two of the same hash do: it is not used.
func TestSessionOfAnother(t *testing.T) {
	w := newWorkload(t)
	k := newSessionKeys(time.Hour, 10, time.Now)
	defer k.close()
	a, b := getSchedule(), getSchedule()
	if err := k.agree(a, w.subs[0], time.Now()); err != nil {
		t.Fatal(err)
	}
	k.put(maphash.String(k.seed, w.subs[1].keys()), *k.at(0))
	for range 2 { // the second is its own
		if err := k.agree(b, w.subs[1], time.Now()); err != nil {
			t.Fatal(err)
		}
		if a.ikm == b.ikm || a.public == b.public {
			t.Error("sealed with another's session")
		}
	}
	if kept := k.at(2); string(kept.keys[:]) != w.subs[1].keys() || kept.ikm != b.ikm || k.next != 3 {
		t.Error("its own session is not kept")
	}
}

// TestSessionsAreBounded fills the ring beyond its bound, lets the sessions expire one after the
// other, and looks at the memory of those that are forgotten.
func TestSessionsAreBounded(t *testing.T) {
	w, clock := newWorkload(t), newClock()
	k := newSessionKeys(time.Hour, 3, clock.now)
	defer k.close()
	for _, sub := range w.subs {
		if err := k.agree(getSchedule(), sub, clock.now()); err != nil {
			t.Fatal(err)
		}
		clock.add(time.Minute)
	}
	ring := k.ring
	clock.add(56 * time.Minute)
	for left := 3; left >= 0; left-- {
		if len(k.numbers) != left || k.next-k.first != left {
			t.Errorf("%d sessions kept, want %d", len(k.numbers), left)
		}
		for _, sub := range w.subs[len(w.subs)-left:] {
			if !k.use(getSchedule(), maphash.String(k.seed, sub.keys()), sub.keys(), clock.now()) {
				t.Errorf("of %d sessions, one of the latest is not kept", left)
			}
		}
		clock.add(time.Minute)
		k.sweep(clock.now())
	}
	for _, kept := range ring[0] {
		if kept != (session{}) {
			t.Error("a session that was forgotten is in memory")
		}
	}
}

// TestConcurrentSealing has many goroutines seal while everything cached
// expires under them. It is for the race detector; every message is opened.
func TestConcurrentSealing(t *testing.T) {
	w := newWorkload(t)
	for _, mode := range []Reuse{SharedKey(time.Millisecond), SessionKeys(time.Millisecond, 3)} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s := newTestSealer(t, mode, time.Now)
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 100 {
						who := (g + i) % len(w.subs)
						message := fmt.Appendf(nil, "%d of %d", i, g)
						body, err := s.AppendEncrypt(nil, message, w.subs[who], Padding{})
						if err != nil {
							t.Error(err)
							return
						}
						if got, err := w.receivers[who].Open(body); err != nil || !bytes.Equal(got, message) {
							t.Errorf("%q, %v", got, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// A clock is set by hand.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time      { return time.Unix(0, c.at.Load()) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d)) }
