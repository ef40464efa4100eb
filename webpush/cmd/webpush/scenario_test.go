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
	key   string // that the subscriptions of wrongkey.example were made with

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
	case r.Host == "goneforawhile.example" && at > 500*time.Millisecond && at < 5*time.Second:
		w.WriteHeader(http.StatusNotFound)
	case r.Host == "overloaded.example" && at < 7*time.Second:
		w.Header().Set("Retry-After", "8")
		w.WriteHeader(http.StatusServiceUnavailable)
	case isEnded(r.URL.Path):
		w.WriteHeader(http.StatusGone)
	default:
		s.accepted["https://"+r.Host+r.URL.Path]++
		w.WriteHeader(http.StatusCreated)
	}
}

// start serves until the test ends. It gives the environment in which a command reaches the
// services: a proxy, and the certificate to trust.
func (s *services) start(t *testing.T) (environment []string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: serviceHosts, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root.pem")
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
	return append(os.Environ(), "WEBPUSH_TEST_COMMAND=yes", "SSL_CERT_FILE="+root, "HTTPS_PROXY=http://"+proxy, "https_proxy=", "NO_PROXY=", "no_proxy=")
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
// resumed, gets SIGTERM, and is resumed with the right key: nobody is lost, nobody gets two, and
// only those are listed as gone that are.
func TestFourServices(t *testing.T) {
	t.Parallel()
	each := 400
	if os.Getenv("POSTAGE_LONG") != "" {
		each = 12_500
	}
	s := &services{accepted: make(map[string]int)}
	environment, folder := s.start(t), t.TempDir()
	run := func(stop time.Duration, args ...string) (out, said string, code int) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		command := exec.Command(os.Args[0], args...)
		command.Dir, command.Env, command.Stdout, command.Stderr = folder, environment, &stdout, &stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		if stop > 0 {
			defer time.AfterFunc(stop, func() { command.Process.Signal(syscall.SIGTERM) }).Stop()
		}
		var exit *exec.ExitError
		if err := command.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
	}
	if _, said, code := run(0, "keys", "-keys", "wrong.pem"); code != 0 {
		t.Fatal(said)
	}
	public, said, code := run(0, "keys", "-keys", "right.pem")
	if code != 0 {
		t.Fatal(said)
	}
	s.key = strings.TrimSpace(public)
	r, err := receiver.Generate()
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	var want, ended []string
	for n := range each {
		for _, host := range serviceHosts {
			endpoint := fmt.Sprintf("https://%s/%d", host, n)
			line, err := r.SubscriptionJSON(endpoint)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
			if isEnded(fmt.Sprintf("/%d", n)) {
				ended = append(ended, endpoint)
			} else {
				want = append(want, endpoint)
			}
		}
	}
	subs := filepath.Join(folder, "subs.ndjson")
	if err := errors.Join(os.WriteFile(subs, lines, 0o600), os.WriteFile(filepath.Join(folder, "news.txt"), []byte("news"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.begun = time.Now()
	for i, step := range []struct {
		key  string
		stop time.Duration // 0 for never
		code int
	}{{"wrong.pem", 1500 * time.Millisecond, exitInterrupted}, {"wrong.pem", 2 * time.Second, exitInterrupted}, {"right.pem", 0, 0}} {
		args := []string{"broadcast", "subs.ndjson", "-keys", step.key, "-subject", "mailto:you@example.com", "-message", "news.txt"}
		if i > 0 {
			args = append(args, "-resume")
		}
		out, said, code := run(step.stop, args...)
		t.Logf("run %d, at %s, after %d requests: exit %d: %s%s", i+1, time.Since(s.begun), s.requests, code, said, out)
		if code != step.code {
			t.Errorf("exit code %d, want %d", code, step.code)
		}
		if i == 0 && !strings.Contains(said, "wrongkey.example") {
			t.Error("nothing is said of the wrong key")
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(s.accepted)); !slices.Equal(got, want) {
		t.Errorf("%d got the message, want %d", len(got), len(want))
	}
	for endpoint, n := range s.accepted {
		if n > 1 {
			t.Errorf("%s got %d messages", endpoint, n)
		}
	}
	text, err := os.ReadFile(subs + ".gone.txt")
	listed := strings.Fields(string(text))
	slices.Sort(listed)
	slices.Sort(ended)
	if err != nil || !slices.Equal(listed, ended) {
		t.Errorf("%d are listed as gone, want %d: %v", len(listed), len(ended), err)
	}
}
