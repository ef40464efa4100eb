package send

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"postage/internal/link"
	"postage/lab"
)

// pageSizes are the sizes in bytes of what a page has, its HTML first: 30 objects in place of the
// 71 requests of the median page on a desktop, by the kinds and bytes that it has of each. Within a
// kind sizes are spread as a lognormal distribution with sigma 1.5 is, by its quantiles: the
// largest image then has 284 kB, as the 90th percentile of JPEG images has 274.
//
// Source: HTTP Archive, Web Almanac 2024, chapter Page Weight (D. Smart and J. Indigo, 2024),
// requests and bytes of the median page by content type.
func pageSizes() []int {
	var sizes []int
	for _, kind := range []struct {
		objects int     // of 30
		all, kB float64 // of 71: how many the page has, and what they have together
	}{
		{1, 1, 18},     // HTML
		{4, 8, 78},     // CSS
		{2, 4, 131},    // fonts
		{13, 24, 613},  // scripts
		{10, 18, 1054}, // images
	} {
		var spread []float64
		sum := 0.0
		for i := range kind.objects {
			quantile := (float64(i) + 0.5) / float64(kind.objects)
			spread = append(spread, math.Exp(1.5*math.Sqrt2*math.Erfinv(2*quantile-1)))
			sum += spread[i]
		}
		for _, x := range spread {
			sizes = append(sizes, int(1e3*kind.kB/kind.all*float64(kind.objects)*x/sum))
		}
	}
	return sizes
}

// pageLoad is a page's load over a network, on connections of its own: the HTML, and then all else
// at once.
func pageLoad(network *link.Spec) lab.Case {
	s := fixed()
	s.page, s.link, s.reuse, s.inflight, s.conns = pageSizes(), network, false, 1, 1
	for _, size := range s.page {
		s.answer += size
	}
	c := newCase(fmt.Sprintf("slice=network/page=%d/%s", len(s.page), linkName(network)),
		fmt.Sprintf("Over a network of %v: which protocol brings a page of %d objects soonest, on new connections?", *network, len(s.page)))
	c.Baseline, c.Batch = "proto=http2", s.expected()
	c.add(s, "", netHTTP2(), quicHTTP3())
	s.conns = 6
	c.add(s, "conns=6", netHTTP1())
	return c.Case
}

// load brings a page on connections of its own: the first object tells of the others. A client
// of HTTP/1.1 asks for one after the other, as browsers do, and the others for all at once.
func (in *instance) load() error {
	if err := in.open(); err != nil {
		return err
	}
	return errors.Join(in.objects(), in.closeClients())
}

func (in *instance) objects() error {
	if err := in.object(0, 0); err != nil {
		return err
	}
	rest := len(in.lanes) - 1
	workers := rest
	if len(in.clients) > 1 {
		workers = len(in.clients)
	}
	errs := make([]error, workers)
	var taken atomic.Int64
	taken.Store(int64(workers)) // beside each one's first, which no other may take: all connections are used
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w + 1; i <= rest && errs[w] == nil; i = int(taken.Add(1)) {
				errs[w] = in.object(i, w%len(in.clients))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// object asks for one by a client.
func (in *instance) object(number, client int) error {
	l := &in.lanes[number]
	l.client, l.begun = in.clients[client], time.Now()
	return l.client.call(l)
}

// linkName is a network in the name of a case.
func linkName(l *link.Spec) string {
	name := fmt.Sprintf("rtt=%v/loss=%g%%", l.RTT, 100*l.Loss)
	if l.Burst != 0 {
		name += fmt.Sprintf("/burst=%g", l.Burst)
	}
	return name
}
