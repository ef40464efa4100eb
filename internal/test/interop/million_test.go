//go:build unix

package interop

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
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

// The proof of a broadcast to a million: a push service with HTTP/2 and four origins: one
// throttles and one never answers; at a third, single devices are throttled for an hour, eight
// neighbours at a time; and a sender in a process of its own. Counted at the service: nothing lost,
// nothing doubled. Beside it the two healthy origins alone.
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

// The test program is also the sender, in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("INTEROP_JOB") == "" {
		os.Exit(m.Run())
	}
	if err := sender(); err != nil {
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
	perSecond := max(n/1000, 200) // of the throttling origin
	job := senderJob{Root: filepath.Join(t.TempDir(), "root.pem"), Crowd: []int{n * 44 / 100, n * 44 / 100, n * 6 / 100, n * 6 / 100}, Timeout: 10 * time.Second, Patience: 20 * time.Second}
	var crowds [originCount]*crowd
	for o, fault := range [originCount]pushtest.Fault{healthyA: throttleDevices, healthyB: pushtest.OK(), throttling: throttle(perSecond), tarpit: pushtest.Stall()} {
		crowds[o] = newCrowd(job.Crowd[o], fault)
		t.Cleanup(crowds[o].server.Close)
		job.URLs = append(job.URLs, crowds[o].server.URL)
		job.Crowds = append(job.Crowds, crowds[o].prefix)
	}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: crowds[0].server.Certificate().Raw})
	if err := os.WriteFile(job.Root, root, 0o600); err != nil {
		t.Fatal(err)
	}

	alone := job
	alone.Crowd = []int{job.Crowd[healthyA], job.Crowd[healthyB], 0, 0}
	aloneReport := runSender(t, alone)
	check(t, crowds, "alone", aloneReport, alone.Crowd)

	all := runSender(t, job)
	check(t, crowds, "all four", all, job.Crowd)
	t.Logf("outcomes of %d: %v", n, all.Outcomes)
	t.Logf("memory of the sender: %.0f MB with %d subscriptions loaded, %.0f MB at most (wanted: 400)", all.LoadedMB, n, all.PeakMB)
	for _, o := range []int{healthyA, healthyB} {
		t.Logf("healthy origin %d: %.1f s, alone %.1f s: %.2f times (wanted: 1.2)", o+1, all.Elapsed[o], aloneReport.Elapsed[o], all.Elapsed[o]/aloneReport.Elapsed[o])
	}
	t.Logf("the throttling origin took its %d at %d a second in %.1f s", all.Accepted[throttling], perSecond, all.Elapsed[throttling])

	if n == 1_000_000 && all.PeakMB > 400 {
		t.Errorf("the sender took %.0f MB", all.PeakMB)
	}
}

// check compares what a sender says with what the service counted, once each, and has the counts
// begin anew.
func check(t *testing.T, crowds [originCount]*crowd, name string, r senderReport, sent []int) {
	t.Helper()
	total := 0
	for o, n := range sent {
		want := n
		switch o {
		case tarpit:
			want = 0
		case healthyA:
			want -= throttledDevices(n)
		}
		once, more := crowds[o].counts()
		t.Logf("%s, origin %d: %d subscriptions, %d accepted, at the service %d once, %d more often", name, o+1, n, r.Accepted[o], once, more)
		if r.Accepted[o] != want || once != want || more != 0 {
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
	if devices := throttledDevices(sent[healthyA]); deferred != 0 || r.Outcomes["rate limited"] != devices {
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

func runSender(t *testing.T, job senderJob) (r senderReport) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INTEROP_JOB="+string(text), "GOMEMLIMIT=345MiB")
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

// sender is the sender's process.
func sender() error {
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

// crowdOf gives the subscriptions of a job, with the origins mixed: endpoint, keys.
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
