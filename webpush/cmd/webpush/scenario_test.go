//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"postage/webpush/receiver"
)

// The test program is also the command.
func TestMain(m *testing.M) {
	if os.Getenv("WEBPUSH_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

var serviceHosts = []string{"wrongkey.example", "goneforawhile.example", "overloaded.example", "well.example"}

// services are four push services behind one address. Each answers after 100 ms.
type services struct {
	begun time.Time
	gone  time.Duration // until when goneforawhile.example says so
	asked time.Duration // how long overloaded.example asks for
	key   string        // that the subscriptions of wrongkey.example were made with

	mu       sync.Mutex
	accepted map[string]int
	requests int
}

// isEnded reports whether a browser has unsubscribed: one of fifty.
func isEnded(path string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
	return err == nil && n%50 == 7
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) //nolint:errcheck // the client may be gone
	time.Sleep(100 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	at := time.Since(s.begun)
	switch {
	case r.Host == "wrongkey.example" && !strings.HasSuffix(r.Header.Get("Authorization"), "k="+s.key):
		w.WriteHeader(http.StatusForbidden)
	case r.Host == "goneforawhile.example" && at > 500*time.Millisecond && at < s.gone:
		w.WriteHeader(http.StatusNotFound)
	case r.Host == "overloaded.example" && at < s.asked-time.Second:
		w.Header().Set("Retry-After", fmt.Sprint(s.asked.Seconds()))
		w.WriteHeader(http.StatusServiceUnavailable)
	case isEnded(r.URL.Path):
		w.WriteHeader(http.StatusGone)
	default:
		s.accepted["https://"+r.Host+r.URL.Path]++
		w.WriteHeader(http.StatusCreated)
	}
}

func (s *services) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.accepted)
}

// A stage is a folder for the command, and the environment in which it reaches the services: a
// proxy, and the certificate to trust.
type stage struct {
	*services
	folder      string
	environment []string
	want, ended []string // endpoints
}

// newStage serves until the test ends. The list has so many subscriptions at each host.
func newStage(t *testing.T, each int, hosts ...string) *stage {
	t.Helper()
	t.Parallel()
	s := &stage{services: &services{gone: 5 * time.Second, asked: 8 * time.Second, accepted: make(map[string]int)}, folder: t.TempDir()}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: serviceHosts, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(s.folder, "root.pem")
	if err := os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600); err != nil {
		t.Fatal(err)
	}
	address := listen(t, func(listener net.Listener) {
		pair := tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: private}
		server := &http.Server{Handler: s, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0)}
		server.ServeTLS(listener, "", "") //nolint:errcheck // it ends with the listener
	})
	proxy := listen(t, func(listener net.Listener) {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go tunnel(conn, address)
		}
	})
	s.environment = append(os.Environ(), "WEBPUSH_TEST_COMMAND=yes", "SSL_CERT_FILE="+root, "HTTPS_PROXY=http://"+proxy, "https_proxy=", "NO_PROXY=", "no_proxy=")
	for _, name := range []string{"wrong.pem", "right.pem"} {
		public, said, code := s.run(t, nil, "keys", "-keys", name)
		if code != 0 {
			t.Fatal(said)
		}
		s.key = strings.TrimSpace(public)
	}
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for n := range each {
		for _, host := range hosts {
			endpoint := fmt.Sprintf("https://%s/%d", host, n)
			line, err := r.SubscriptionJSON(endpoint)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
			if isEnded(fmt.Sprintf("/%d", n)) {
				s.ended = append(s.ended, endpoint)
			} else {
				s.want = append(s.want, endpoint)
			}
		}
	}
	for name, text := range map[string][]byte{"subs.ndjson": lines, "news.txt": []byte("news")} {
		if err := os.WriteFile(filepath.Join(s.folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	s.begun = time.Now()
	s.mu.Unlock()
	return s
}

// run runs the command, and beside it what is to stop it.
func (s *stage) run(t *testing.T, stop func(*os.Process), args ...string) (out, said string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.Command(os.Args[0], args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = s.folder, s.environment, &stdout, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if stop != nil {
		stop(command.Process)
	}
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// broadcast sends the list, and continues if there are results.
func (s *stage) broadcast(t *testing.T, stop func(*os.Process), key string, flags ...string) (said string, code int) {
	t.Helper()
	args := []string{"broadcast", "subs.ndjson", "-keys", key, "-subject", "mailto:you@example.com", "-message", "news.txt", "-resume"}
	out, said, code := s.run(t, stop, append(args, flags...)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("at %s, after %d requests: exit %d: %s%s", time.Since(s.begun), s.requests, code, said, out)
	return said, code
}

// check asks that everybody has got the message, so many of them twice at most, and that only those
// are listed as gone that are.
func (s *stage) check(t *testing.T, mostTwice int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.want)
	if got := slices.Sorted(maps.Keys(s.accepted)); !slices.Equal(got, s.want) {
		t.Errorf("%d got the message, want %d", len(got), len(s.want))
	}
	twice := 0
	for _, n := range s.accepted {
		twice += n - 1
	}
	if twice > mostTwice {
		t.Errorf("%d messages came twice, at most %d", twice, mostTwice)
	}
	text, err := os.ReadFile(filepath.Join(s.folder, "subs.ndjson.gone.txt"))
	listed := strings.Fields(string(text))
	slices.Sort(listed)
	slices.Sort(s.ended)
	if err != nil || !slices.Equal(slices.Compact(listed), s.ended) {
		t.Errorf("%d are listed as gone, want %d: %v", len(listed), len(s.ended), err)
	}
}

// listen runs serve until the test ends, and gives the address.
func listen(t *testing.T, serve func(net.Listener)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go serve(listener)
	return listener.Addr().String()
}

// tunnel answers one CONNECT, whatever host it names.
func tunnel(client net.Conn, address string) {
	defer client.Close()
	r := bufio.NewReader(client)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
	go io.Copy(server, r)   //nolint:errcheck // the connection has ended
	io.Copy(client, server) //nolint:errcheck // likewise
}

// TestFourServices broadcasts over a service for which the key is wrong, one that calls everybody
// gone for a while, one that asks for 8 s, and one that is well. The command gets SIGTERM, is
// resumed, gets SIGTERM, and is resumed with the right key: nobody is lost, and nobody gets two.
func TestFourServices(t *testing.T) {
	each := 400
	if os.Getenv("POSTAGE_LONG") != "" {
		each = 12_500
	}
	s := newStage(t, each, serviceHosts...)
	if os.Getenv("POSTAGE_LONG") == "hours" {
		s.gone, s.asked = time.Minute, 2*time.Minute
	}
	for _, running := range []time.Duration{1500 * time.Millisecond, 2 * time.Second} {
		said, code := s.broadcast(t, func(p *os.Process) {
			time.Sleep(running)
			p.Signal(syscall.SIGTERM) //nolint:errcheck // it has ended, and the exit code says so
		}, "wrong.pem")
		if code != exitInterrupted || !strings.Contains(said, "send to https://wrongkey.example") {
			t.Errorf("stopped: exit code %d: %s", code, said)
		}
	}
	if said, code := s.broadcast(t, nil, "right.pem"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	s.check(t, 0)
}

// TestKilled kills the command with signal 9 three times, and starts it again: nothing is lost, and
// nothing is sent twice but what was under way.
func TestKilled(t *testing.T) {
	const each, concurrency, kills = 400, 8, 3
	s := newStage(t, each, "well.example")
	for i := range kills {
		s.broadcast(t, func(p *os.Process) {
			for deadline := time.Now().Add(time.Minute); s.taken() < (i+1)*each/(kills+1) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			p.Kill() //nolint:errcheck // it has ended, and the next finds nothing to do
		}, "right.pem", "-concurrency", fmt.Sprint(concurrency))
	}
	if said, code := s.broadcast(t, nil, "right.pem"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	s.check(t, kills*(concurrency+1)) // and one whose result was being written
}
