package seal

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	webpushgo "github.com/SherClockHolmes/webpush-go"

	"postage/internal/sys/proc"
	"postage/lab"
	"postage/record"
	"postage/webpush"
)

// inflight is how many requests of a broadcast are under way at a time.
const inflight = 64

// loopbackCase sends broadcasts to a push service in a process of its own.
func loopbackCase() lab.Case {
	c := lab.Case{
		Name:     "Seal/send=loopback",
		Doc:      "What does a message of a broadcast cost, sealed and sent over TLS and HTTP/2 on loopback, 64 requests under way?",
		Baseline: "lib=webpush-go",
		Value:    record.ValueWall,
	}
	c.Contenders = append(c.Contenders, loopbackRow("lib=webpush-go", "github.com/SherClockHolmes/webpush-go", loopWebpushGo))
	for _, m := range []mode{modes[0], {name: "broadcast", reuse: webpush.KeyPerBroadcast()}, modes[2]} {
		c.Contenders = append(c.Contenders, loopbackRow("lib=webpush/mode="+m.name, "", func(s *serviceAddress, t *http.Transport) (broadcast, error) {
			return loopLibrary(s, t, m.reuse)
		}))
	}
	return c
}

// A broadcast sends the message to n of the service's subscriptions in turn.
type broadcast func(origin int, n int) error

// Origins of the service: one checks everything, the other accepts whatever has the right form, so
// that checking is not part of the measured time.
const (
	checking = iota
	discarding
)

// serviceAddress is the push service's first line, when it is ready.
type serviceAddress struct {
	Certificate []byte // DER
	// Subscriptions of both origins, as browsers give them.
	Subscriptions [2][]json.RawMessage
	keys          *webpush.VAPIDKeys
	client        *webpush.Client // nil with another library
}

// serviceCounts is the push service's answer.
type serviceCounts struct {
	Opened   int // messages at the checking origin with the right text
	Requests int // requests at both origins
	// CPU is the service's user and system time, nil if it is not known.
	CPU *time.Duration
}

func loopbackRow(name, module string, open func(*serviceAddress, *http.Transport) (broadcast, error)) lab.Contender {
	return lab.Contender{
		Name: name, Module: module, Settings: record.KeysOf(name).Settings(map[string]string{"inflight": fmt.Sprint(inflight)}),
		Checks: "the push service verifies the token of a message to each of twenty subscriptions, opens it and reads the right text; it counts as many requests as were sent",
		Open: func(ctx context.Context, _ lab.Env) (lab.Instance, error) {
			keys, err := webpush.GenerateVAPIDKeys()
			if err != nil {
				return nil, err
			}
			in := &loopback{service: serviceAddress{keys: keys}}
			if in.server, err = proc.StartServer(ctx, pushServer, keys.PublicKey(), &in.service); err != nil {
				return nil, fmt.Errorf("seal: push service: %w", err)
			}
			if in.transport, err = in.service.transport(); err == nil {
				in.send, err = open(&in.service, in.transport)
			}
			if err != nil {
				return nil, errors.Join(err, in.server.Close())
			}
			return in, nil
		},
	}
}

type loopback struct {
	server    *proc.Child
	service   serviceAddress
	transport *http.Transport
	send      broadcast
}

func (l *loopback) counts() (c serviceCounts, err error) {
	err = l.server.Ask("counts", &c)
	return c, err
}

func (l *loopback) Prove(context.Context) error {
	before, err := l.counts()
	if err != nil {
		return err
	}
	n := len(l.service.Subscriptions[checking])
	if err := l.send(checking, n); err != nil {
		return err
	}
	if err := l.send(discarding, n); err != nil {
		return err
	}
	after, err := l.counts()
	if err != nil {
		return err
	}
	if opened := after.Opened - before.Opened; opened != n {
		return fmt.Errorf("the push service opened %d of %d messages", opened, n)
	}
	if requests := after.Requests - before.Requests; requests != 2*n {
		return fmt.Errorf("the push service saw %d requests for %d messages", requests, 2*n)
	}
	return nil
}

func (l *loopback) Run(n int) error { return l.send(discarding, n) }

// Counters returns the service's own CPU time.
func (l *loopback) Counters() (map[string]float64, error) {
	c, err := l.counts()
	if err != nil || c.CPU == nil {
		return nil, err
	}
	return map[string]float64{"server-cpu-ns/op": float64(*c.CPU)}, nil
}

func (l *loopback) Close() (err error) {
	l.transport.CloseIdleConnections()
	if l.service.client != nil {
		err = l.service.client.Close()
	}
	return errors.Join(err, l.server.Close())
}

// transport trusts the service's certificate and speaks HTTP/2.
func (s *serviceAddress) transport() (*http.Transport, error) {
	certificate, err := x509.ParseCertificate(s.Certificate)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: inflight}, nil
}

// parsed has the subscriptions of both origins in a library's form.
func parsed[T any](s *serviceAddress, parse func([]byte) (T, error)) (subs [2][]T, err error) {
	for origin, list := range s.Subscriptions {
		for _, text := range list {
			sub, err := parse(text)
			if err != nil {
				return subs, err
			}
			subs[origin] = append(subs[origin], sub)
		}
	}
	return subs, nil
}

// loopLibrary broadcasts with package webpush.
func loopLibrary(s *serviceAddress, transport *http.Transport, reuse webpush.Reuse) (broadcast, error) {
	subs, err := parsed(s, func(text []byte) (webpush.Subscription, error) { return webpush.ParseSubscription(text) })
	if err != nil {
		return nil, err
	}
	client, err := newClient(&workload{keys: s.keys}, webpush.Config{Reuse: reuse, Transport: transport, Limits: webpush.Limits{Concurrency: inflight}})
	if err != nil {
		return nil, err
	}
	s.client = client
	options, msg := messageOptions(false), message()
	return func(origin, n int) error {
		return toAll(client, n, func(i int) webpush.Subscription { return subs[origin][i%len(subs[origin])] }, msg, options)
	}, nil
}

// loopWebpushGo does the same with webpush-go: goroutines that take the next subscription and send
// to it.
func loopWebpushGo(s *serviceAddress, transport *http.Transport) (broadcast, error) {
	options := &webpushgo.Options{
		HTTPClient: &http.Client{Transport: transport}, TTL: ttlSeconds, RecordSize: unpadded,
		Subscriber:     strings.TrimPrefix(contact, "mailto:"),
		VAPIDPublicKey: s.keys.PublicKey(), VAPIDPrivateKey: s.keys.PrivateKey(),
	}
	subs, err := parsed(s, func(text []byte) (*webpushgo.Subscription, error) {
		sub := new(webpushgo.Subscription)
		return sub, json.Unmarshal(text, sub)
	})
	msg := message()
	return func(origin, n int) error {
		return inTurns(min(n, inflight), n, func(_, i int) error {
			response, err := webpushgo.SendNotification(msg, subs[origin][i%len(subs[origin])], options)
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusCreated {
				err = fmt.Errorf("the push service answered %s", response.Status)
			}
			return errors.Join(err, response.Body.Close())
		})
	}, err
}

// toAll broadcasts a message to n subscriptions.
func toAll(c *webpush.Client, n int, subscription func(i int) webpush.Subscription, message []byte, options webpush.Options) error {
	to := func(yield func(webpush.Subscription) bool) {
		for i := range n {
			if !yield(subscription(i)) {
				return
			}
		}
	}
	for _, result := range c.Broadcast(context.Background(), to, message, options) {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
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
