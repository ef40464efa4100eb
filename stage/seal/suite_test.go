package seal

import (
	"context"
	"strings"
	"testing"
	"time"

	"postage/lab"
	"postage/webpush"
)

func TestEveryContenderProves(t *testing.T) {
	if err := lab.Check([]lab.Suite{Suite()}); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, c := range Suite().Made(lab.Choices{"pad": {"none", "4096"}}) {
		for _, contender := range c.Contenders {
			t.Run(strings.TrimPrefix(c.Name, "Seal/")+"/"+contender.Name, func(t *testing.T) {
				if contender.NotPossible != "" {
					t.Skip("not possible: " + contender.NotPossible)
				}
				in, err := contender.Open(ctx, lab.Env{Seed: 7})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := in.Prove(ctx); err != nil {
						t.Fatal(err)
					}
					if err := in.Run(10); err != nil {
						t.Fatal(err)
					}
				}
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// spoiled changes what a maker makes.
func spoiled(m maker, spoil func(*product)) maker {
	make := m.make
	m.make = func(i int) (product, error) {
		p, err := make(i)
		spoil(&p)
		return p, err
	}
	return m
}

// A contender that does not do the work, or not as its row says, fails its proof.
func TestProofFails(t *testing.T) {
	strict := modes[0]
	for _, r := range []struct {
		what   string
		change func(*contender)
		spoil  func(*product)
		later  time.Duration
		want   string
	}{
		{what: "one bit of the body", spoil: func(p *product) { p.body[200] ^= 1 }, want: "receiver:"},
		{what: "another message", spoil: func(p *product) { p.body = append(p.body, 0) }, want: "receiver:"},
		{what: "no token", spoil: func(p *product) { p.header.Authorization = "" }, want: "vapid"},
		{what: "a token's signature", spoil: func(p *product) {
			p.header.Authorization = strings.Replace(p.header.Authorization, ", k=", "A, k=", 1)
		}, want: "vapid"},
		{what: "an expired token", later: 48 * time.Hour, want: "expired"},
		{what: "another content type", spoil: func(p *product) { p.header.ContentType = "text/plain" }, want: `header field Content-Type is "text/plain"`},
		{what: "another TTL", spoil: func(p *product) { p.header.TTL = "0" }, want: `header field Ttl is "0"`},
		{what: "a key kept, and said to be fresh", change: func(c *contender) {
			*c = *libraryRow(modes[1], false)
			c.key = perMessage
		}, want: "one ECDH key is used twice"},
		{what: "a key fresh, and said to be kept", change: func(c *contender) { c.key = perOrigin }, want: "ECDH key of message"},
		{what: "a session's key for all of an origin", change: func(c *contender) {
			*c = *libraryRow(modes[1], false)
			c.key = perSubscription
		}, want: "one ECDH key is used twice"},
		{what: "a token signed each time, and said to be kept", change: func(c *contender) {
			*c = *pageRow("x", webpush.Reuse{}, perMessage, perMessage)
			c.token = perOrigin
		}, want: "VAPID token of message"},
		{what: "a token kept, and said to be fresh", change: func(c *contender) { c.token = perMessage }, want: "one VAPID token is used twice"},
		{what: "padding said and not done", change: func(c *contender) {
			open := c.open
			c.open = func(w *workload, _ padding) (maker, error) { return open(w, true) }
		}, want: "the body has 4096 bytes, want 468"},
	} {
		c := libraryRow(strict, false)
		if r.change != nil {
			r.change(c)
		}
		w, err := newWorkload(1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.open(w, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.spoil != nil {
			m = spoiled(m, r.spoil)
		}
		w.now = func() time.Time { return time.Now().Add(r.later) }
		in := &instance{contender: c, workload: w, maker: m}
		if err := in.Prove(context.Background()); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: the proof says %v, want %q", r.what, err, r.want)
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
	}
}

// What is timed is what is proven: floors, and pages without a message.
func TestProofIsOfTheTimedLoop(t *testing.T) {
	w, err := newWorkload(7)
	if err != nil {
		t.Fatal(err)
	}
	page := keyAndToken()
	m, err := page.open(w, false)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for want, in := range map[string]lab.Instance{
		"primitive 1: gives no result": &floor{recipients: 1, steps: []step{func(int) error { return nil }}},
		"key 0: ":                      &instance{contender: page, workload: w, maker: spoiled(m, func(p *product) { n++; p.body = []byte{4, byte(n)} })},
	} {
		if err := in.Prove(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
