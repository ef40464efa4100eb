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
		c.Contenders = append(c.Contenders, spreadRow(webpush.Strict(), "strict", 7, procs, false))
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
	options webpush.Options
	message []byte
	subs    []webpush.Subscription
	browser func(i int) (*receiver.Receiver, error)
	keys    *webpush.VAPIDKeys
	procs   int
	kept    bool
	next    atomic.Int64
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
	s := &spread{message: message(), options: messageOptions(false), procs: procs, kept: kept, subs: make([]webpush.Subscription, subs)}
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
	return inTurns(s.procs, n, func(p, i int) error {
		if buffers[p] == nil {
			buffers[p] = make([]byte, 0, webpush.MaxBodyBytes)
		}
		sub := s.subs[(start+i)*order%len(s.subs)]
		_, _, err := s.client.AppendMessage(buffers[p], s.message, sub, s.options)
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

// Prove is that of the other contenders, for a sample of the subscriptions.
func (s *spread) Prove(ctx context.Context) error {
	sample := &workload{message: s.message, keys: s.keys, now: time.Now}
	for i := 0; i < len(s.subs); i += max(len(s.subs)/20, 1) {
		browser, err := s.browser(i)
		if err != nil {
			return err
		}
		sample.recipients = append(sample.recipients, recipient{origin: spreadOrigin, url: s.subs[i].Endpoint(), sub: s.subs[i], browser: browser})
	}
	c := &contender{key: perMessage, token: perOrigin}
	if s.kept {
		c.key = perSubscription
	}
	in := &instance{contender: c, workload: sample, maker: messages(s.client, sample, false, false)}
	return cmp.Or(in.Prove(ctx), s.Run(2*s.procs))
}

func (s *spread) Close() error { return s.client.Close() }
