//go:build unix

package interop

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"postage/webpush/pushtest"
)

// A crowd is many subscriptions at one origin that only count: what is posted to one is checked for
// its form, and not kept. They are one browser, with a number each.
type crowd struct {
	server *pushtest.Server
	prefix string // of the endpoints
	taken  []atomic.Uint32
}

// newCrowd starts the service of n subscriptions. Every request has the fault.
func newCrowd(n int, fault pushtest.Fault) *crowd {
	c := &crowd{taken: make([]atomic.Uint32, n)}
	c.server = pushtest.NewServer(pushtest.Discard(), pushtest.Always(func(x *pushtest.Exchange) {
		accept := x.Accept
		x.Accept = func(w http.ResponseWriter) { c.accept(w, x.Request, accept) }
		fault(x)
	}))
	c.prefix = c.server.Subscribe("").Endpoint() + "?n="
	return c
}

// accept counts what the service takes.
func (c *crowd) accept(w http.ResponseWriter, r *http.Request, accept func(http.ResponseWriter)) {
	number, ok := crowdNumber(r)
	if !ok || number >= len(c.taken) {
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	}
	answer := &statusWriter{ResponseWriter: w}
	accept(answer)
	if answer.status == http.StatusCreated {
		c.taken[number].Add(1)
	}
}

// counts is how many got a message once, and how many more often. The counts begin anew.
func (c *crowd) counts() (once, more int) {
	for i := range c.taken {
		switch n := c.taken[i].Swap(0); {
		case n == 1:
			once++
		case n > 1:
			more++
		}
	}
	return once, more
}

// A statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// crowdFiller makes a crowd's endpoints as long as the big services'.
var crowdFiller = strings.Repeat("gAAAAABYNX0F_-z0", 9)

// crowdEndpoint is where to post to a subscription of the crowd.
func crowdEndpoint(prefix string, number int) string {
	return fmt.Sprintf("%s%08d-%s", prefix, number, crowdFiller)
}

// crowdNumber is the number of the subscription that a request is for.
func crowdNumber(r *http.Request) (int, bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(r.URL.RawQuery, "n="), "-")
	number, err := strconv.Atoi(digits)
	return number, err == nil && number >= 0
}

// throttle accepts perSecond requests a second, and answers the others of that second
// with 429 and "Retry-After: 1".
func throttle(perSecond int) pushtest.Fault {
	var mu sync.Mutex
	var second time.Time
	taken := 0
	return func(x *pushtest.Exchange) {
		mu.Lock()
		if now := time.Now(); now.Sub(second) >= time.Second {
			second, taken = now, 0
		}
		taken++
		ok := taken <= perSecond
		mu.Unlock()
		if ok {
			x.Accept(x.Writer)
			return
		}
		pushtest.Status(http.StatusTooManyRequests, "Retry-After", "1")(x)
	}
}
