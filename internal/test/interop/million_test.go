//go:build unix

package interop

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
	"postage/webpush/receiver"
)

// The proof of a broadcast to a million: a push service in a process of its own, with HTTP/2 and
// four origins, of which one throttles and one never answers; at a third, single devices are
// throttled for an hour, eight neighbours at a time; and a sender in another. Counted at the
// service: nothing lost, nothing doubled. Beside it the two healthy origins alone.
//
//	go test -run TestMillion -v ./internal/test/interop                                     4,000 subscriptions
//	POSTAGE_LONG=1 go test -run TestMillion -v ./internal/test/interop                      100,000, in a minute
//	POSTAGE_LONG=hours go test -run TestMillion -v -timeout 40m ./internal/test/interop     1,000,000, in some ten minutes

// The origins.
const (
	healthyA = iota
	healthyB
	throttling
	tarpit
	originCount
)

// millionPlan is how the work is laid out.
type millionPlan struct {
	crowd       [originCount]int
	perSecond   int // of the throttling origin
	timeout     time.Duration
	patience    time.Duration
	memoryLimit string
}

func planFor(n int) millionPlan {
	p := millionPlan{crowd: [originCount]int{n * 44 / 100, n * 44 / 100, n * 6 / 100, n * 6 / 100}, memoryLimit: "345MiB"}
	p.perSecond, p.timeout, p.patience = max(n/1000, 200), 10*time.Second, 20*time.Second
	return p
}

// senderJob is what a sender is told, as JSON.
type senderJob struct {
	Root     string
	URLs     []string // of origins
	Crowds   []string // where the endpoints of each begin
	Crowd    []int    // how many at each
	Timeout  time.Duration
	Patience time.Duration
}

// senderReport is what a sender says, as JSON.
type senderReport struct {
	Accepted []int     // at each origin
	Deferred []int     // likewise
	Elapsed  []float64 // seconds to the last accepted of each origin
	Outcomes map[string]int
	LoadedMB float64 // resident, with subscriptions loaded
	PeakMB   float64 // most ever resident
}

// The test program is also the service and the sender, in processes of their own.
func TestMain(m *testing.M) {
	child := map[string]func() error{"service": childService, "sender": childSender}[os.Getenv("INTEROP_CHILD")]
	if child == nil {
		os.Exit(m.Run())
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestMillion(t *testing.T) {
	t.Parallel()
	n := 4000
	switch os.Getenv("POSTAGE_LONG") {
	case "":
	case "hours":
		n = 1_000_000
	default:
		n = 100_000
	}
	p := planFor(n)
	service := startService(t, p)
	job := senderJob{Root: service.root, URLs: service.URLs, Crowds: service.Crowds, Crowd: p.crowd[:], Timeout: p.timeout, Patience: p.patience}

	alone := job
	alone.Crowd = []int{p.crowd[healthyA], p.crowd[healthyB], 0, 0}
	aloneReport := runSender(t, alone, p.memoryLimit)
	service.check(t, "alone", aloneReport, alone.Crowd)

	all := runSender(t, job, p.memoryLimit)
	service.check(t, "all four", all, job.Crowd)
	t.Logf("outcomes of %d: %v", n, all.Outcomes)
	t.Logf("memory of the sender: %.0f MB with %d subscriptions loaded, %.0f MB at most (wanted: 400)", all.LoadedMB, n, all.PeakMB)
	for _, o := range []int{healthyA, healthyB} {
		t.Logf("healthy origin %d: %.1f s, alone %.1f s: %.2f times (wanted: 1.2)", o+1, all.Elapsed[o], aloneReport.Elapsed[o], all.Elapsed[o]/aloneReport.Elapsed[o])
	}
	t.Logf("the throttling origin took its %d at %d a second in %.1f s", all.Accepted[throttling], p.perSecond, all.Elapsed[throttling])

	if n == 1_000_000 && all.PeakMB > 400 {
		t.Errorf("the sender took %.0f MB", all.PeakMB)
	}
}

// check compares what a sender says with what the service counted, once each.
func (s *serviceProcess) check(t *testing.T, name string, r senderReport, crowd []int) {
	t.Helper()
	counted := s.count(t)
	total := 0
	for o, n := range crowd {
		want := n
		switch o {
		case tarpit:
			want = 0
		case healthyA:
			want -= throttledDevices(n)
		}
		c := counted[o]
		t.Logf("%s, origin %d: %d subscriptions, %d accepted, at the service %d once, %d more often", name, o+1, n, r.Accepted[o], c.Once, c.More)
		if r.Accepted[o] != want || c.Once != want || c.More != 0 {
			t.Errorf("%s, origin %d: lost or doubled: want %d", name, o+1, want)
		}
		total += n
	}
	sum := 0
	for n := range maps.Values(r.Outcomes) {
		sum += n
	}
	if sum != total {
		t.Errorf("%s: %d of %d came out", name, sum, total)
	}
	deferred := r.Deferred[healthyA] + r.Deferred[healthyB] + r.Deferred[throttling]
	t.Logf("%s: healthy messages deferred: %d", name, deferred)
	if devices := throttledDevices(crowd[healthyA]); deferred != 0 || r.Outcomes["rate limited"] != devices {
		t.Errorf("%s: %d healthy ones deferred, %v; want none, and %d rate limited", name, deferred, r.Outcomes, devices)
	}
}

// isThrottled reports whether a subscription of the origin healthyA is throttled.
func isThrottled(number int) bool { return number%2500 < 8 }

func throttledDevices(crowd int) int { return crowd/2500*8 + min(crowd%2500, 8) }

// throttleDevices is healthyA's fault.
func throttleDevices(x *pushtest.Exchange) {
	if number, ok := crowdNumber(x.Request); ok && isThrottled(number) {
		pushtest.Status(http.StatusTooManyRequests, "Retry-After", "3600")(x)
		return
	}
	x.Accept(x.Writer)
}

// serviceProcess is the push service.
type serviceProcess struct {
	URLs   []string
	Crowds []string // where the endpoints of each begin
	PEM    []byte
	root   string
	in     io.WriteCloser
	out    *bufio.Scanner
}

// crowdCount is how many subscriptions of one origin were sent to once, and more often.
type crowdCount struct{ Once, More int }

func startService(t *testing.T, p millionPlan) *serviceProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	plan, err := json.Marshal([]int{p.crowd[0], p.crowd[1], p.crowd[2], p.crowd[3], p.perSecond})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "INTEROP_CHILD=service", "INTEROP_PLAN="+string(plan))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &serviceProcess{in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close() // it ends with its standard input
		if err := cmd.Wait(); err != nil {
			t.Errorf("the service: %v", err)
		}
	})
	s.read(t, s)
	s.root = filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(s.root, s.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *serviceProcess) read(t *testing.T, to any) {
	t.Helper()
	if !s.out.Scan() {
		t.Fatal("the service has ended")
	}
	if err := json.Unmarshal(s.out.Bytes(), to); err != nil {
		t.Fatal(err)
	}
}

// count asks for the counts, and has them begin anew.
func (s *serviceProcess) count(t *testing.T) (counts []crowdCount) {
	t.Helper()
	if _, err := io.WriteString(s.in, "count\n"); err != nil {
		t.Fatal(err)
	}
	s.read(t, &counts)
	return counts
}

// childService is the service's process.
func childService() error {
	var plan []int
	if err := json.Unmarshal([]byte(os.Getenv("INTEROP_PLAN")), &plan); err != nil {
		return err
	}
	faults := [originCount]pushtest.Fault{healthyA: throttleDevices, healthyB: pushtest.OK(), throttling: throttle(plan[originCount]), tarpit: pushtest.Stall()}
	var crowds []*crowd
	var hello serviceProcess
	for o := range originCount {
		c := newCrowd(plan[o], faults[o])
		defer c.server.Close()
		crowds, hello.URLs, hello.Crowds = append(crowds, c), append(hello.URLs, c.server.URL), append(hello.Crowds, c.prefix)
	}
	hello.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: crowds[0].server.Certificate().Raw})
	answers := json.NewEncoder(os.Stdout)
	if err := answers.Encode(hello); err != nil {
		return err
	}
	seen := make([][]int, originCount) // at the last count
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		counts := make([]crowdCount, originCount)
		for o, c := range crowds {
			now := c.counts()
			for i, n := range now {
				if len(seen[o]) > 0 {
					n -= seen[o][i]
				}
				switch {
				case n == 1:
					counts[o].Once++
				case n > 1:
					counts[o].More++
				}
			}
			seen[o] = now
		}
		if err := answers.Encode(counts); err != nil {
			return err
		}
	}
	return nil
}

func runSender(t *testing.T, job senderJob, memoryLimit string) (r senderReport) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INTEROP_CHILD=sender", "INTEROP_JOB="+string(text))
	if memoryLimit != "" {
		cmd.Env = append(cmd.Env, "GOMEMLIMIT="+memoryLimit)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the sender: %v", err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("the sender: %v: %s", err, out)
	}
	return r
}

// childSender is the sender's process.
func childSender() error {
	var job senderJob
	if err := json.Unmarshal([]byte(os.Getenv("INTEROP_JOB")), &job); err != nil {
		return err
	}
	text, err := os.ReadFile(job.Root)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := webpush.NewTransport(netip.Addr.IsLoopback)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	keys, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return err
	}
	report := senderReport{Accepted: make([]int, len(job.URLs)), Deferred: make([]int, len(job.URLs)), Elapsed: make([]float64, len(job.URLs)), Outcomes: map[string]int{}}
	message := slices.Clip([]byte(strings.Repeat("All the world's a stage, and all the men and women merely players. ", 6)[:365]))
	if err := broadcast(job, transport, keys, message, &report); err != nil {
		return err
	}
	if report.PeakMB, err = residentMB("VmHWM"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// crowdOf gives the subscriptions of a job, with those of the origins mixed: endpoint, keys.
func crowdOf(job senderJob, each func(endpoint, p256dh, auth string) error) error {
	points := make([]string, 512) // making a key pair takes longer than anything else here
	for i := range points {
		r, err := receiver.Generate()
		if err != nil {
			return err
		}
		var j struct {
			Keys struct{ P256dh string }
		}
		text, err := r.SubscriptionJSON("https://push.example/x")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &j); err != nil {
			return err
		}
		points[i] = j.Keys.P256dh
	}
	given := make([]int, len(job.Crowd))
	var auth [16]byte
	for i := 0; ; i++ {
		next, least := -1, 1.0
		for o, n := range job.Crowd { // the one that is furthest behind
			if share := float64(given[o]) / float64(max(n, 1)); given[o] < n && share < least {
				next, least = o, share
			}
		}
		if next < 0 {
			return nil
		}
		rand.Read(auth[:]) //nolint:errcheck // it never fails
		if err := each(crowdEndpoint(job.Crowds[next], given[next]), points[i%len(points)], base64.RawURLEncoding.EncodeToString(auth[:])); err != nil {
			return err
		}
		given[next]++
	}
}

func broadcast(job senderJob, transport *http.Transport, keys *webpush.VAPIDKeys, message []byte, report *senderReport) error {
	total := 0
	for _, n := range job.Crowd {
		total += n
	}
	subs := make([]webpush.Subscription, 0, total)
	err := crowdOf(job, func(endpoint, p256dh, auth string) error {
		sub, err := webpush.NewSubscription(endpoint, p256dh, auth)
		subs = append(subs, sub)
		return err
	})
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what loading left behind is not the subscriptions
	if report.LoadedMB, err = residentMB("VmRSS"); err != nil {
		return err
	}
	ring, err := webpush.NewKeyRing(keys)
	if err != nil {
		return err
	}
	cfg := webpush.Config{
		Keys: ring, Subject: "mailto:ops@example.com", Transport: transport, Timeout: job.Timeout, Limits: webpush.Limits{Backlog: total + 1, Patience: job.Patience},
	}
	client, err := webpush.NewClient(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	origin := make(map[string]int)
	for o, url := range job.URLs {
		origin[url] = o
	}
	start := time.Now()
	for sub, result := range client.Broadcast(context.Background(), slices.Values(subs), message, webpush.Options{TTL: time.Hour}) {
		outcome := result.Outcome()
		report.Outcomes[outcome.String()]++
		switch o := origin[sub.Origin()]; outcome {
		case webpush.Accepted:
			report.Accepted[o]++
			report.Elapsed[o] = time.Since(start).Seconds()
		case webpush.Deferred:
			report.Deferred[o]++
		}
	}
	return nil
}

// residentMB reads a line of /proc/self/status, in megabytes.
func residentMB(name string) (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return kilobytes * 1024 / 1e6, nil
}
