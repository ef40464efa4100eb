package seal

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"postage/lab"
	"postage/record"
	"postage/webpush"
	"postage/webpush/receiver"
)

// parallelCase seals on one processor and on two.
func parallelCase() lab.Case {
	c := lab.Case{
		Name:     "Seal/slice=parallel",
		Doc:      "How much faster does sealing with nothing kept get on two processors?",
		Baseline: "lib=webpush/mode=strict/procs=1",
		Value:    record.ValueWall, // CPU time is the same, however it is divided
	}
	for _, procs := range []int{1, 2} {
		c.Contenders = append(c.Contenders, spreadRow(webpush.Reuse{}, "strict", 7, procs, false))
	}
	return c
}

// sessionsCase has numbers of sessions that fit the processor's caches, and one that does not.
func sessionsCase() lab.Case {
	c := lab.Case{
		Name:     "Seal/slice=sessions",
		Doc:      "What does a message cost with session keys for 7, 10,000 and 1,000,000 subscriptions, too many for the processor's caches?",
		Baseline: "lib=webpush/mode=session/subs=7/procs=1",
	}
	for _, subs := range []int{7, 10_000, 1_000_000} {
		for _, procs := range []int{1, 2} {
			c.Contenders = append(c.Contenders, spreadRow(webpush.SessionKeys(reuseTTL, subs+1000), "session", subs, procs, true))
		}
	}
	return c
}

// manySessions is the number of subscriptions from which a row only runs on request.
const manySessions = 100_000

// spreadRow seals for many subscriptions, spread over goroutines.
func spreadRow(reuse webpush.Reuse, mode string, subs, procs int, kept bool) lab.Contender {
	name := fmt.Sprintf("lib=webpush/mode=%s/procs=%d", mode, procs)
	if kept {
		name = fmt.Sprintf("lib=webpush/mode=%s/subs=%d/procs=%d", mode, subs, procs)
	}
	row := lab.Contender{
		Name: name, Settings: record.KeysOf(name).Settings(map[string]string{"reuse": reuse.String(), "as": "parts"}),
		Checks: "messages to a sample of the subscriptions are opened by an independent receiver, and their tokens verified; the second to each uses the same key or another, as the mode says",
		Open: func(_ context.Context, env lab.Env) (lab.Instance, error) {
			return openSpread(env.Seed, reuse, subs, procs, kept)
		},
	}
	switch {
	case procs > runtime.NumCPU():
		row.NotPossible, row.Open = fmt.Sprintf("this machine has %d processor", runtime.NumCPU()), nil
	case subs >= manySessions && os.Getenv("POSTAGE_LONG") == "":
		row.NotPossible, row.Open = "a million key agreements take a minute a block: set POSTAGE_LONG=1", nil
	}
	return row
}

// spread is one library for many subscriptions, used by several goroutines.
type spread struct {
	client  *webpush.Client
	message []byte
	subs    []webpush.Subscription
	browser func(i int) (*receiver.Receiver, error)
	keys    *webpush.VAPIDKeys
	seal    func(dst []byte, sub webpush.Subscription) (product, error)
	last    []sealed // by each goroutine, for the proof
	procs   int
	kept    bool
	next    atomic.Int64
}

// sealed is a message to a subscription.
type sealed struct {
	product
	sub int
	_   [64]byte // no goroutine waits for another's cache line
}

// spreadOrigin is the origin of all of them.
const spreadOrigin = "https://updates.push.services.mozilla.com"

func openSpread(seed uint64, reuse webpush.Reuse, subs, procs int, kept bool) (*spread, error) {
	rng := rand.New(rand.NewPCG(seed, 8188))
	// Browsers share some key pairs, because making one takes longer than everything else here.
	// Their authentication secrets differ, and so do their sessions.
	privates := make([][]byte, min(subs, 256))
	for i := range privates {
		privates[i] = octets(rng, 32)
	}
	secrets := make([][16]byte, subs)
	for i := range secrets {
		copy(secrets[i][:], octets(rng, 16))
	}
	s := &spread{message: message(), procs: procs, kept: kept, subs: make([]webpush.Subscription, subs), last: make([]sealed, runtime.NumCPU())}
	options := messageOptions(false)
	s.seal = func(dst []byte, sub webpush.Subscription) (p product, err error) {
		p.body, p.header, err = s.client.AppendMessage(dst, s.message, sub, options)
		return p, err
	}
	s.browser = func(i int) (*receiver.Receiver, error) {
		return receiver.New(privates[i%len(privates)], secrets[i][:])
	}
	points := make([]string, len(privates))
	for i := range points {
		r, err := s.browser(i)
		if err != nil {
			return nil, err
		}
		points[i] = base64.RawURLEncoding.EncodeToString(r.PublicKey())
	}
	var err error
	for i := range s.subs {
		endpoint, secret := spreadOrigin+"/wpush/v2/gAAAAA"+letters(rng, 164), base64.RawURLEncoding.EncodeToString(secrets[i][:])
		if s.subs[i], err = webpush.NewSubscription(endpoint, points[i%len(points)], secret); err != nil {
			return nil, err
		}
	}
	if s.keys, err = webpush.GenerateVAPIDKeys(); err != nil {
		return nil, err
	}
	if s.client, err = newClient(&workload{keys: s.keys}, webpush.Config{Reuse: reuse}); err != nil || !kept {
		return s, err
	}
	s.procs = runtime.NumCPU()
	err = s.Run(subs) // so that every session is made
	s.procs = procs
	return s, err
}

// order visits the subscriptions far apart, so that neighbours in memory are not used one after the
// other. The step is a prime larger than the number of subscriptions.
const order = 1_299_709

func (s *spread) Run(n int) error {
	buffers, start := make([][]byte, s.procs), int(s.next.Add(int64(n)))-n
	return inTurns(s.procs, n, func(p, i int) (err error) {
		if buffers[p] == nil {
			buffers[p] = make([]byte, 0, webpush.MaxBodyBytes)
		}
		last := &s.last[p]
		last.sub = (start + i) * order % len(s.subs)
		last.product, err = s.seal(buffers[p], s.subs[last.sub])
		return err
	})
}

// inTurns has workers do n pieces of work: whichever is done takes the next. The caller is one of
// them. The first error of each worker ends it, and is returned.
func inTurns(workers, n int, work func(worker, i int) error) error {
	var group sync.WaitGroup
	var taken atomic.Int64
	errs := make([]error, workers)
	for p := range workers {
		run := func() {
			for i := int(taken.Add(1)) - 1; i < n && errs[p] == nil; i = int(taken.Add(1)) - 1 {
				errs[p] = work(p, i)
			}
		}
		if p == workers-1 {
			run()
		} else {
			group.Go(run)
		}
	}
	group.Wait()
	return cmp.Or(errs...)
}

// Prove checks a sample of the subscriptions as the other contenders do. Then it opens what Run's
// goroutines made last.
func (s *spread) Prove(ctx context.Context) error {
	sample := &workload{message: s.message, keys: s.keys, now: time.Now}
	for i := 0; i < len(s.subs); i += max(len(s.subs)/20, 1) {
		r, err := s.recipient(i)
		if err != nil {
			return err
		}
		sample.recipients = append(sample.recipients, r)
	}
	c := &contender{key: perMessage, token: perOrigin}
	if s.kept {
		c.key = perSubscription
	}
	in := &instance{contender: c, workload: sample, maker: messages(s.client, sample, false, false)}
	const none = -1 // of a goroutine whose work others did
	for i := range s.last {
		s.last[i].sub = none
	}
	if err := cmp.Or(in.Prove(ctx), s.Run(20*s.procs)); err != nil {
		return err
	}
	for _, last := range s.last {
		if last.sub == none {
			continue
		}
		r, err := s.recipient(last.sub)
		if err == nil {
			_, err = in.checkMessage(last.product, &r)
		}
		if err == nil {
			err = checkVAPID(last.header.Authorization, spreadOrigin, s.keys, time.Now())
		}
		if err != nil {
			return fmt.Errorf("in %d goroutines, subscription %d: %w", s.procs, last.sub, err)
		}
	}
	return nil
}

func (s *spread) recipient(i int) (recipient, error) {
	browser, err := s.browser(i)
	return recipient{origin: spreadOrigin, url: s.subs[i].Endpoint(), sub: s.subs[i], browser: browser}, err
}

func (s *spread) Close() error { return s.client.Close() }
