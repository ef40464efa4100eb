package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	corev1 "k8s.io/api/core/v1"

	"postage/load"
	"postage/load/fleet"
)

// A server is outside the cluster, and counts the requests that it gets.
type server struct {
	url    string
	served atomic.Int64
}

// serve starts a server. It stands still at the beginning of every interval.
func serve(t *testing.T, standstill, interval time.Duration) *server {
	s, began := new(server), time.Now()
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		s.served.Add(1)
		if standstill > 0 {
			time.Sleep(standstill - time.Since(began)%interval)
		}
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// result is the part of --json's output that the tests read.
type result struct {
	Requests, Failed, Unanswered int64
	NotSent                      int64 `json:"not_sent"`
	Achieved                     float64
	Valid                        bool    `json:"latency_valid"`
	Invalid                      *string `json:"latency_invalid"`
	Interrupted                  bool
	Errors                       map[string]int64
	LatencyNS                    map[string]*float64 `json:"latency_ns"`
	MessagesSent                 int64               `json:"messages_sent"`
	MessagesReceived             int64               `json:"messages_received"`
}

// A command is `postage load` as a person runs it.
type command struct {
	*exec.Cmd
	out  bytes.Buffer
	said transcript
}

// A transcript is what a command says while it runs.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// load starts `postage load` with the rights of the documentation.
func (b *bed) load(t *testing.T, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.CommandContext(t.Context(), b.Program, append([]string{"load", "--kubeconfig", b.User, "--json"}, args...)...)}
	c.Dir = t.TempDir()
	c.Stdout, c.Stderr = &c.out, &c.said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// fleet starts it with workers on the cluster.
func (b *bed) fleet(t *testing.T, args ...string) *command {
	t.Helper()
	return b.load(t, append([]string{"--kubernetes", "--image", image, "--host-network", "--cpu", "0"}, args...)...)
}

// sending starts a fleet of two workers with 100 requests a second to a server of its own, and
// returns when it sends.
func (b *bed) sending(t *testing.T, duration string) (s *server, c *command, job string) {
	t.Helper()
	s = serve(t, 0, 0)
	c = b.fleet(t, "--workers", "2", "--rate", "100", "--duration", duration, s.url)
	job = c.says(t, jobOf)
	await(t, "sending", func() bool { return s.served.Load() > 100 })
	return s, c, job
}

// result waits for the command's end, with one of two exit codes: 1 says that the latencies are not
// valid, which a busy machine may cause.
func (c *command) result(t *testing.T, code int) (r result) {
	t.Helper()
	_ = c.Wait()
	t.Logf("%s%s", &c.said, &c.out)
	if exit := c.ProcessState.ExitCode(); exit != code && !(code == 0 && exit == 1) {
		t.Fatalf("exit code %d", exit)
	}
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %q", err, &c.out)
	}
	return r
}

// says waits until the command has said something, and returns what the parentheses in it match.
func (c *command) says(t *testing.T, pattern string) (found string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	await(t, "said "+pattern, func() bool {
		ended := c.ended()
		match := wanted.FindStringSubmatch(c.said.String())
		if ended && match == nil {
			t.Fatalf("the command ended, and did not say %s: %s%s", pattern, &c.said, &c.out)
		}
		if len(match) > 1 {
			found = match[1]
		}
		return match != nil
	})
	return found
}

// ended reports whether the command has ended, and leaves its exit code to Wait.
func (c *command) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0 // an error: Wait has taken it
}

// await waits until a condition holds.
func await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !happened(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("two minutes later: not %s", what)
		}
	}
}

// account checks that the requests sent and not sent add up to the plan, and that the server's count
// fits: it served every answered request, perhaps some unanswered ones, and at most notKnown that no
// worker reported.
func (s *server) account(t *testing.T, r result, planned, notKnown int64) {
	t.Helper()
	served := s.served.Load()
	if sent := r.Requests + r.Unanswered; sent+r.NotSent != planned {
		t.Errorf("%d answered or under way and %d not sent: %d were planned", sent, r.NotSent, planned)
	}
	if r.Requests-r.Failed > served || served > r.Requests+r.Unanswered+notKnown {
		t.Errorf("%d answered (%d failed: %v), %d unanswered, %d not known: the server counted %d", r.Requests, r.Failed, r.Errors, r.Unanswered, notKnown, served)
	}
}

// complete waits for the command's end, and checks that everything was sent once and answered.
func (s *server) complete(t *testing.T, c *command, planned int64) {
	t.Helper()
	r := c.result(t, 0)
	if served := s.served.Load(); r.Requests != planned || r.NotSent != 0 || r.Failed != 0 || served != planned {
		t.Errorf("%d planned: %d answered, %d not sent, %d failed (%v), %d served", planned, r.Requests, r.NotSent, r.Failed, r.Errors, served)
	}
}

// must runs kubectl as an administrator.
func (b *bed) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// gone waits until a Job is deleted.
func (b *bed) gone(t *testing.T, job string) {
	t.Helper()
	await(t, "without "+job, func() bool { return b.must(t, "get", "job", job, "--ignore-not-found") == "" })
}

// A report is what a worker writes into its ConfigMap.
type report struct {
	Whole bool
	Part  load.Part
}

// reports returns the reports of a Job's workers.
func (b *bed) reports(t *testing.T, job string) (reports []report) {
	t.Helper()
	var maps corev1.ConfigMapList
	if err := json.Unmarshal([]byte(b.must(t, "get", "configmaps", "--selector=postage-load="+job, "--output=json")), &maps); err != nil {
		t.Fatal(err)
	}
	for i := range maps.Items {
		var r report
		if err := json.Unmarshal([]byte(maps.Items[i].Data["report"]), &r); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	return reports
}

const jobOf = `Job (postage-load-\S+): `

// The loss of workers, of the command and of the node's programs, on a real cluster: each ends with
// a true account.
func TestFleet(t *testing.T) {
	b := newBed(t)
	t.Run("together", func(t *testing.T) {
		t.Run("attach", func(t *testing.T) { t.Parallel(); b.attach(t, 200, 6*time.Second) })
		t.Run("killed", func(t *testing.T) { t.Parallel(); b.killed(t) })
		t.Run("interrupted", func(t *testing.T) { t.Parallel(); b.interrupted(t) })
		t.Run("interrupted while it looks", func(t *testing.T) { t.Parallel(); b.interruptedLooking(t) })
		t.Run("streams", func(t *testing.T) { t.Parallel(); b.streams(t) })
		t.Run("image", func(t *testing.T) { t.Parallel(); b.noImage(t) })
	})
	t.Run("node", func(t *testing.T) { b.node(t, 3*time.Second) })
}

// takeOver kills a command, and opens what can take over its Job.
func (b *bed) takeOver(t *testing.T, c *command) *fleet.Client {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	client, err := fleet.Open(b.User, "default")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// The command is killed while five workers send, and the server stands still for 200 ms of every
// 2 s. Another command takes over. The histogram is the sum of the workers' own, and it has the
// standstills.
func (b *bed) attach(t *testing.T, rate int64, duration time.Duration) (*fleet.Outcome, result) {
	s := serve(t, 200*time.Millisecond, 2*time.Second)
	first := b.fleet(t, "--workers", "5", "--rate", fmt.Sprint(rate), "--duration", duration.String(), "--conns", "50", s.url)
	job := first.says(t, jobOf)
	await(t, "sending", func() bool { return s.served.Load() > rate })
	client := b.takeOver(t, first)
	out, err := client.Follow(t.Context(), job, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	latency, least := hdrhistogram.New(1, (10*time.Minute).Nanoseconds(), 3), hdrhistogram.New(1, (10*time.Minute).Nanoseconds(), 3)
	reports := b.reports(t, job)
	for i := range reports {
		latency.Merge(reports[i].Part.Latency.Histogram)
		least.Merge(reports[i].Part.Least.Histogram)
	}
	planned := rate * int64(duration/time.Second)
	if len(reports) != 5 || !out.Latency.Equals(latency) || !out.Least.Equals(least) || latency.TotalCount() != planned {
		t.Errorf("%d workers: %d latencies, the fleet has %d of %d", len(reports), latency.TotalCount(), out.Latency.TotalCount(), planned)
	}
	// The slowest hundredth waited for at least nine tenths of a standstill.
	if p99 := time.Duration(out.Latency.ValueAtQuantile(99)); p99 < 170*time.Millisecond {
		t.Errorf("p99 is %v: the standstills are hidden", p99)
	}
	r := b.load(t, "--attach", job).result(t, 0)
	s.account(t, r, planned, 0)
	if r.NotSent != 0 || r.Failed != 0 || s.served.Load() != planned {
		t.Errorf("%d not sent, %d failed (%v), %d served", r.NotSent, r.Failed, r.Errors, s.served.Load())
	}
	b.gone(t, job)
	return out, r
}

// A worker is killed. It is named while the others send, its successor continues, and what was not
// sent, or not reported, is counted.
func (b *bed) killed(t *testing.T) {
	s, c, job := b.sending(t, "25s")
	signalWorker(t, job, syscall.SIGKILL)
	worker := c.says(t, `worker (\d) \(\S+\) has not reported for`)
	c.says(t, "worker "+worker+" reports again: ")
	r := c.result(t, 0)
	s.account(t, r, 2500, r.NotSent)
	if r.NotSent == 0 || r.Requests < 1250 {
		t.Errorf("%d not sent, %d answered", r.NotSent, r.Requests)
	}
	b.gone(t, job)
}

// Ctrl-C: the workers stop and report once more, so that every request is accounted for, and the
// Job is deleted.
func (b *bed) interrupted(t *testing.T) {
	s, c, job := b.sending(t, "10m")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r := c.result(t, 130)
	s.account(t, r, 60_000, 0)
	if !r.Interrupted || r.Requests < 100 || r.Achieved < 10 || r.Achieved > 200 {
		t.Errorf("interrupted: %v, %d answered, %.1f a second", r.Interrupted, r.Requests, r.Achieved)
	}
	b.gone(t, job)
}

// An image that is nowhere is named, and so is why: the Job does not run to its deadline first.
func (b *bed) noImage(t *testing.T) {
	c := b.load(t, "--kubernetes", "--image", "postage.invalid/none:1", "--host-network", "--cpu", "0", "--workers", "2", "http://127.0.0.1:1/")
	job := c.says(t, jobOf)
	c.says(t, `the pod \S+: waits: (ErrImagePull|ImagePullBackOff): .*postage.invalid/none:1`)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	b.gone(t, job)
}

// An interruption may come while the command reads the Job, not only while it waits. The workers
// are told to stop then too.
func (b *bed) interruptedLooking(t *testing.T) {
	_, c, job := b.sending(t, "10m")
	client := b.takeOver(t, c)
	signalWorker(t, job, syscall.SIGKILL)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, err := client.Follow(ctx, job, func(text string) {
		t.Log(text)
		if strings.Contains(text, "has not reported for") { // which it sees in the Job
			interrupt()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Interrupted || out.Achieved < 10 || out.Account.NotSent+out.Account.Unanswered+out.Done != 60_000 {
		t.Errorf("interrupted: %v, %.1f a second, %d answered, %d not, %d not sent", out.Interrupted, out.Achieved, out.Done, out.Account.Unanswered, out.Account.NotSent)
	}
	if err := client.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	b.gone(t, job)
}

// The messages of gRPC streams are counted, and random arrivals can be counted beforehand.
func (b *bed) streams(t *testing.T) {
	var streams atomic.Int64
	server := grpc.NewServer(grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		streams.Add(1)
		return handler(srv, stream)
	}))
	reflection.RegisterV1(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	body := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(body, []byte(`{"listServices": ""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := b.fleet(t, "--workers", "2", "--rate", "20", "--duration", "3s", "--arrivals", "poisson", "--messages", "3", "--body", "@"+body,
		"--proto", "grpc", "--method", "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "http://"+listener.Addr().String())
	r := c.result(t, 0)
	// Each worker opens one stream for itself, to learn the method's type.
	if served := streams.Load() - 2; r.Requests == 0 || r.Requests != served || r.NotSent != 0 || r.Failed != 0 || r.MessagesSent != 3*served || r.MessagesReceived != 3*served {
		t.Errorf("%d answered, %d served, %d not sent, failed: %v, %d messages sent, %d received", r.Requests, served, r.NotSent, r.Errors, r.MessagesSent, r.MessagesReceived)
	}
}

// The kubelet stands still for some time, the API server is killed, and a pod is deleted as when
// its node is drained. Only the last ends a worker, which reports all that it has sent. When its
// successor sends too, the command is interrupted.
func (b *bed) node(t *testing.T, stopped time.Duration) {
	s, c, job := b.sending(t, "10m")
	b.signal(t, "kubelet", syscall.SIGSTOP)
	time.Sleep(stopped)
	b.signal(t, "kubelet", syscall.SIGCONT)
	b.signal(t, "apiserver", syscall.SIGKILL)
	await(t, "answering", func() bool {
		_, err := b.kubectl(t.Context(), "delete", "pod", "--selector=postage-load="+job+",batch.kubernetes.io/job-completion-index=0", "--wait=false")
		return err == nil
	})
	await(t, "one ended, two sending", func() bool {
		whole, sending := 0, 0
		for _, r := range b.reports(t, job) {
			switch {
			case r.Whole:
				whole++
			case r.Part.Latency.Histogram != nil:
				sending++
			}
		}
		return whole == 1 && sending == 2
	})
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.account(t, c.result(t, 130), 60_000, 0)
	if said := c.said.String(); strings.Count(said, "was ended early, and has reported everything") != 1 || strings.Contains(said, "before it had reported") {
		t.Error("it does not say that one worker was ended early")
	}
	b.gone(t, job)
}

// signalWorker sends a signal to the process of a worker of a Job.
func signalWorker(t *testing.T, job string, signal syscall.Signal) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "POSTAGE_JOB="+job+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, signal)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("there is no worker")
}

// Five workers send 5,000 requests a second, to half a percent, and measure a standstill to 3%; and
// the kubelet stands still for longer.
func TestFleetLong(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("three minutes, on a machine with nothing else to do: POSTAGE_LONG=hours")
	}
	b := newBed(t)
	t.Run("rate", func(t *testing.T) {
		_, r := b.attach(t, 5000, 20*time.Second)
		if math.Abs(r.Achieved/5000-1) > 0.005 {
			t.Errorf("%.1f a second", r.Achieved)
		}
	})
	// At 500 a second, ten requests wait longer than the p99, and delay it until they are answered.
	t.Run("standstill", func(t *testing.T) {
		for range 5 {
			_, r := b.attach(t, 500, 20*time.Second)
			if !r.Valid {
				continue // the machine was busy, and the command says so
			}
			if p99 := *r.LatencyNS["p99"]; math.Abs(p99/180e6-1) > 0.03 {
				t.Errorf("p99 is %v", time.Duration(p99))
			}
			return
		}
		t.Error("the machine was busy five times")
	})
	t.Run("node", func(t *testing.T) { b.node(t, 30*time.Second) })
}
