package pushtest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const crowdPath = "/crowd/"

// crowdFiller makes a crowd's endpoints as long as those of the big services.
var crowdFiller = strings.Repeat("gAAAAABYNX0F_-z0", 9)

// CrowdEndpoint is where to post to a subscription of the crowd: see [WithCrowd].
func (s *Server) CrowdEndpoint(number int) string { return CrowdEndpoint(s.URL, number) }

// CrowdEndpoint is [Server.CrowdEndpoint] for a server in another process.
func CrowdEndpoint(url string, number int) string {
	return fmt.Sprintf("%s%s%08d-%s", url, crowdPath, number, crowdFiller)
}

// Crowd is how many messages each subscription of [WithCrowd] has got.
func (s *Server) Crowd() []int {
	counts := make([]int, len(s.crowd))
	for i := range s.crowd {
		counts[i] = int(s.crowd[i].Load())
	}
	return counts
}

// count is what happens to a message to one of the crowd.
func (s *Server) count(w http.ResponseWriter, r *http.Request, name string) {
	digits, _, _ := strings.Cut(name, "-")
	number, err := strconv.Atoi(digits)
	if err != nil || number < 0 || number >= len(s.crowd) {
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	}
	var m Message
	if refused := m.readHeader(r); refused != nil {
		http.Error(w, refused.reason, refused.status)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		http.Error(w, "the body broke off", http.StatusBadRequest)
		return
	}
	if refused := checkRecord(body); refused != nil {
		http.Error(w, refused.reason, refused.status)
		return
	}
	s.crowd[number].Add(1)
	s.accepted.Add(1)
	w.WriteHeader(http.StatusCreated)
}

// Throttle accepts perSecond requests a second, and answers the others of that second
// with 429 and "Retry-After: 1".
func Throttle(perSecond int) Fault {
	var mu sync.Mutex
	var second time.Time
	taken := 0
	return func(x *Exchange) {
		now := time.Now()
		mu.Lock()
		if now.Sub(second) >= time.Second {
			second, taken = now, 0
		}
		taken++
		ok := taken <= perSecond
		mu.Unlock()
		if ok {
			x.Accept(x.Writer)
			return
		}
		Status(http.StatusTooManyRequests, "Retry-After", "1")(x)
	}
}
