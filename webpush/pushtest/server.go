package pushtest

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"postage/webpush/receiver"
)

// A Server is a push service. Its methods are safe for concurrent use.
type Server struct {
	// URL is the service's origin, such as "https://127.0.0.1:40000".
	URL string

	server  *httptest.Server
	closing chan struct{}
	close   sync.Once
	now     func() time.Time
	discard bool
	always  Fault
	counts  struct{ requests, accepted atomic.Int64 }

	mu       sync.Mutex
	browsers map[string]*Browser // by path
	faults   []Fault
}

// maxTTL is how long the service keeps a message; it answers with that TTL if more is asked for (RFC
// 8030 section 5.2).
const maxTTL = 28 * 24 * time.Hour

// An Option changes how a server is made.
type Option func(*Server)

// WithClock sets the clock that tokens are checked by.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.now = now } }

// WithHTTP1 makes a server without HTTP/2.
func WithHTTP1() Option { return func(s *Server) { s.server.EnableHTTP2 = false } }

// Discard makes a server that checks the form of requests but neither verifies
// tokens nor opens and keeps messages: for measuring senders.
func Discard() Option { return func(s *Server) { s.discard = true } }

// Always gives every request this fault, except those that get an injected one.
func Always(fault Fault) Option { return func(s *Server) { s.always = fault } }

// NewServer starts a push service on loopback. Close it when done.
func NewServer(options ...Option) *Server {
	s := &Server{now: time.Now, always: OK(), closing: make(chan struct{}), browsers: make(map[string]*Browser)}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.EnableHTTP2 = true
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a client gave up
	for _, option := range options {
		option(s)
	}
	s.server.StartTLS()
	s.URL = s.server.URL
	return s
}

// Close stops the server and ends every request that it has not answered.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// Transport returns a new transport that trusts the server's certificate.
func (s *Server) Transport() *http.Transport {
	transport := s.server.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = s.server.EnableHTTP2
	return transport
}

// Subscribe makes a browser's subscription. publicKey is the applicationServerKey (unpadded
// base64url): messages signed by another key are refused. If it is "", any key may sign.
func (s *Server) Subscribe(publicKey string) *Browser {
	r, err := receiver.Generate()
	if err != nil {
		panic("pushtest: " + err.Error()) // only if the system has no randomness
	}
	b := &Browser{server: s, receiver: r, path: "/push/" + rand.Text(), publicKey: publicKey}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[b.path] = b
	return b
}

// Inject gives the next requests these faults, one each, in this order.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Requests is how many requests have come, accepted or not.
func (s *Server) Requests() int { return int(s.counts.requests.Load()) }

// Accepted is how many messages the service accepted.
func (s *Server) Accepted() int { return int(s.counts.accepted.Load()) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.counts.requests.Add(1)
	s.mu.Lock()
	fault := s.always
	browser := s.browsers[r.URL.Path]
	if browser != nil && len(browser.faults) > 0 {
		fault, browser.faults = browser.faults[0], browser.faults[1:]
	} else if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	accept := func(w http.ResponseWriter) { s.push(w, r, browser) }
	fault(&Exchange{Writer: w, Request: r, Accept: accept, Closing: s.closing})
}

// push is what happens without faults.
func (s *Server) push(w http.ResponseWriter, r *http.Request, browser *Browser) {
	message, refusal := s.check(r, browser)
	if refusal != nil {
		http.Error(w, refusal.reason, refusal.status)
		return
	}
	if !s.discard {
		s.mu.Lock()
		browser.messages = append(browser.messages, message)
		s.mu.Unlock()
	}
	s.counts.accepted.Add(1)
	granted := min(message.TTL, maxTTL)
	w.Header().Set("TTL", fmt.Sprint(int64(granted/time.Second)))
	w.Header().Set("Location", s.URL+"/message/"+rand.Text())
	w.WriteHeader(http.StatusCreated)
}

// Certificate is the server's, for senders in other processes to trust.
func (s *Server) Certificate() *x509.Certificate { return s.server.Certificate() }
