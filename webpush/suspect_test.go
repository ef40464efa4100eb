package webpush_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

// A loner is a push service. The tests say what it answers to number n, in a bubble of
// synctest.
type loner struct {
	mu       sync.Mutex
	answer   func(n int) *http.Response
	requests int
	accepted map[int]int
	ended    map[string]int
	suspects []*webpush.SendError
}

func (s *loner) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		return nil, err
	}
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	a := s.answer(n)
	if a.StatusCode == http.StatusCreated {
		s.accepted[n]++
	}
	return a, nil
}

// client makes one for the service.
func (s *loner) client(t *testing.T) *webpush.Client {
	s.accepted, s.ended = make(map[int]int), make(map[string]int)
	return newClient(t, nil, webpush.Config{
		Transport: s, Retry: webpush.Retry{Attempts: 3},
		OnGone: func(_ context.Context, sub webpush.Subscription) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended[sub.Endpoint()]++
		},
		OnSuspect: func(_ context.Context, err *webpush.SendError) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.suspects = append(s.suspects, err)
		},
	})
}

// send sends to all, and gives those without a final outcome.
func (s *loner) send(t *testing.T, client *webpush.Client, subs []webpush.Subscription) (open []webpush.Subscription, counts map[webpush.Outcome]int) {
	counts = make(map[webpush.Outcome]int)
	for sub, r := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if counts[r.Outcome()]++; !r.Final() {
			open = append(open, sub)
		}
	}
	return open, counts
}

// TestMistakeIsNotFinal has a service refuse everything, because of the key, the subject, or
// itself. It is left alone, nothing is concluded from it, and when it is mended nobody is missing.
func TestMistakeIsNotFinal(t *testing.T) {
	subs := strangers(t, 900)
	for name, refusal := range map[string]func() *http.Response{
		"another key": func() *http.Response {
			return answerWithBody(403, "do not correspond to the credentials used to create")
		},
		"Apple's subject": func() *http.Response { return answerWithBody(403, `{"reason":"BadJwtToken"}`) },
		"Mozilla's key":   func() *http.Response { return answerWithBody(401, "VAPID public key mismatch") },
		"no token":        func() *http.Response { return answerWith(401) },
		"a bad request":   func() *http.Response { return answerWith(400) },
		"404":             func() *http.Response { return answerWith(404) },
		"410":             func() *http.Response { return answerWith(410) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &loner{answer: func(int) *http.Response { return refusal() }}
				client := s.client(t)
				open, counts := s.send(t, client, subs)
				if len(open) != len(subs) || s.requests > 60 || len(s.ended) > 0 || len(s.suspects) != 1 {
					t.Errorf("%d of %d are open after %d requests, %d told as gone, %d suspicions: %v", len(open), len(subs), s.requests, len(s.ended), len(s.suspects), counts)
				}
				err := sendTo(t, client, subs[0])
				if !errors.Is(err, webpush.Deferred) && !errors.Is(err, webpush.Suspect) || len(s.ended) > 0 {
					t.Errorf("one more: %v", err)
				}
				time.Sleep(time.Hour)
				s.answer = func(int) *http.Response { return answerWith(201) }
				if open, counts = s.send(t, client, open); len(open) > 0 || len(s.accepted) != len(subs) {
					t.Errorf("mended: %d accepted, %v", len(s.accepted), counts)
				}
			})
		})
	}
}

// TestGoneForAMinute has a service answer 404 to everything for a minute in the middle of a
// broadcast. Only those that have ended are told as gone, and the others get the message.
func TestGoneForAMinute(t *testing.T) {
	subs := strangers(t, 5000)
	ended := func(n int) bool { return n%10 == 3 }
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := &loner{answer: func(n int) *http.Response {
			if at := time.Since(begun); at > time.Second/2 && at < time.Minute || ended(n) {
				return answerWith(404)
			}
			return answerWith(201)
		}}
		open, counts := s.send(t, s.client(t), subs)
		if len(open) > 0 || counts[webpush.Accepted] != 4500 || counts[webpush.Gone] != 500 || len(s.suspects) == 0 {
			t.Errorf("%v, %d suspicions", counts, len(s.suspects))
		}
		for i, sub := range subs {
			if want := ended(i); s.ended[sub.Endpoint()] == 1 != want || s.accepted[i] == 1 == want {
				t.Errorf("%d: told as gone %d times, accepted %d times", i, s.ended[sub.Endpoint()], s.accepted[i])
			}
		}
	})
}

// TestGoneForAMoment has a service answer 404 to its first few requests, or to a few in the middle:
// fewer than make it suspect, as when a broadcast is resumed shortly before an outage ends.
func TestGoneForAMoment(t *testing.T) {
	subs := strangers(t, 500)
	for _, from := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			s := &loner{}
			s.answer = func(n int) *http.Response {
				if n%10 == 3 || s.requests > from && s.requests <= from+15 {
					return answerWith(404)
				}
				return answerWith(201)
			}
			open, counts := s.send(t, s.client(t), subs)
			if len(open) > 0 || len(s.accepted) != 450 || len(s.ended) != 50 {
				t.Errorf("from request %d: %d accepted, %d told as gone: %v", from, len(s.accepted), len(s.ended), counts)
			}
		})
	}
}

// TestManyAreGone has lists whose subscriptions have ended in plausible ways.
func TestManyAreGone(t *testing.T) {
	subs := strangers(t, 1000)
	for name, c := range map[string]struct {
		size  int
		ended func(n int) bool
	}{
		"the first 700":  {1000, func(n int) bool { return n < 700 }},
		"the last 700":   {1000, func(n int) bool { return n >= 300 }},
		"four of five":   {1000, func(n int) bool { return n%5 != 0 }},
		"all of a dozen": {12, func(int) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &loner{answer: func(n int) *http.Response {
					if c.ended(n) {
						return answerWith(410)
					}
					return answerWith(201)
				}}
				begun := time.Now()
				open, counts := s.send(t, s.client(t), subs[:c.size])
				if len(open) > 0 || counts[webpush.Gone] != len(s.ended) || time.Since(begun) > 2*time.Minute {
					t.Errorf("after %s %d are open, %d told as gone: %v", time.Since(begun), len(open), len(s.ended), counts)
				}
			})
		})
	}
}

// TestPatienceDecides has a service ask for two minutes with each of its answers, and take messages
// after nearly three.
func TestPatienceDecides(t *testing.T) {
	subs := strangers(t, 1000)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := &loner{answer: func(int) *http.Response {
			if time.Since(begun) < 170*time.Second {
				return answerWith(503, "Retry-After", "120")
			}
			return answerWith(201)
		}}
		if open, counts := s.send(t, s.client(t), subs); len(open) > 0 || s.requests > 1100 {
			t.Errorf("%v after %s, %d requests", counts, time.Since(begun), s.requests)
		}
	})
}

// TestSendIsNotFooled sends one message after the other to a service that calls everybody gone.
func TestSendIsNotFooled(t *testing.T) {
	subs := strangers(t, 60)
	synctest.Test(t, func(t *testing.T) {
		s := &loner{answer: func(int) *http.Response { return answerWith(404) }}
		client, counts := s.client(t), make(map[error]int)
		for _, sub := range subs {
			counts[sendError(t, sendTo(t, client, sub)).Outcome]++
		}
		if len(s.ended) != 19 || counts[webpush.Gone] != 19 || counts[webpush.Suspect] == 0 {
			t.Errorf("%d told as gone: %v", len(s.ended), counts)
		}
	})
}

// TestEverythingIsBelieved turns the limits off.
func TestEverythingIsBelieved(t *testing.T) {
	service := newService(t, pushtest.Always(pushtest.Status(http.StatusGone)))
	_, subs := audience(t, service, 100)
	client := newClient(t, service, webpush.Config{Limits: webpush.Limits{Gone: -1, Refusals: -1}})
	for _, r := range client.Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
		if !errors.Is(r.Err, webpush.Gone) {
			t.Error(r.Err)
		}
	}
}

// TestCauses has services give their reasons in their own ways.
func TestCauses(t *testing.T) {
	service := newService(t)
	client := newClient(t, service, webpush.Config{})
	sub := parse(t, service.Subscribe("").JSON())
	service.Inject(
		pushtest.Answer(http.StatusUnauthorized, `{"code":401,"errno":109,"error":"Unauthorized","message":"Request did not validate VAPID public key mismatch"}`),
		pushtest.Status(http.StatusForbidden, "X-WNS-Error-Description", "The Token obtained from the Token Provider is wrong"),
	)
	if err := sendTo(t, client, sub); !errors.Is(err, webpush.KeyMismatch) {
		t.Errorf("Mozilla's: %v", err)
	}
	if e := sendError(t, sendTo(t, client, sub)); e.Reason != "The Token obtained from the Token Provider is wrong" {
		t.Errorf("WNS's: %v", e)
	}
	var told atomic.Int32
	client = newClient(t, nil, webpush.Config{OnGone: func(context.Context, webpush.Subscription) { told.Add(1) }})
	var ended []webpush.Subscription
	for n := range 40 {
		text := bytes.Replace(service.Subscribe("").JSON(), []byte(service.URL), []byte("https://permanently-removed.invalid"), 1)
		ended = append(ended, parse(t, bytes.Replace(text, []byte("/push/"), fmt.Appendf(nil, "/fcm/%d", n), 1)))
	}
	for _, r := range client.Broadcast(t.Context(), slices.Values(ended), nil, webpush.Options{}) {
		if e := sendError(t, r.Err); e.Outcome != webpush.Gone || e.Attempts != 0 || !r.Final() {
			t.Errorf("Edge's on Android: %v", r.Err)
		}
	}
	if told.Load() != 40 {
		t.Errorf("%d told as gone", told.Load())
	}
}

// TestDeferredSaysWhy looks at the messages that are given up because of others.
func TestDeferredSaysWhy(t *testing.T) {
	subs := strangers(t, 200)
	for status, body := range map[int]string{503: "overloaded", 403: "BadJwtToken"} {
		synctest.Test(t, func(t *testing.T) {
			s := &loner{answer: func(int) *http.Response { return answerWithBody(status, body) }}
			for _, r := range s.client(t).Broadcast(t.Context(), slices.Values(subs), nil, webpush.Options{}) {
				if e := sendError(t, r.Err); e.Outcome == webpush.Deferred && (!strings.Contains(e.Error(), body) || !strings.Contains(e.Error(), strconv.Itoa(status))) {
					t.Fatal(e)
				}
			}
		})
	}
}

// TestRefusalIsCheap has a reason of 600 bytes searched for secrets.
func TestRefusalIsCheap(t *testing.T) {
	sub := strangers(t, 1)[0]
	reason := strings.Repeat("the push service is in no good mood today. ", 14)
	client := newClient(t, nil, webpush.Config{Limits: webpush.Limits{Refusals: -1}, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return answerWithBody(400, reason), nil
	})})
	if n := testing.AllocsPerRun(20, func() { _ = sendTo(t, client, sub) }); n > 100 {
		t.Errorf("%.0f allocations, at most 100", n)
	}
}
