package load

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"postage/internal/stats"
)

// The settings of a comparison with other generators.
var (
	peerTurns   = flag.Int("turns", 5, "TestPeers: turns of each group; paced groups get at most 3")
	peerSeconds = flag.Int("seconds", 10, "TestPeers: seconds measured in a run of postage load, wrk or h2load")
	peerOthers  = flag.Int("others", 2, "TestPeers: seconds measured in a run of the others, and in a paced run")
	peerSeed    = flag.Uint64("seed", 1, "TestPeers: seed of the order of runs")
	peerNames   = flag.String("peers", "", "TestPeers: some of wrk,h2load,vegeta,k6,fortio,oha")
)

// A peer is a generator, and the way to get it.
type peer struct {
	name    string
	install string // a command
}

// allPeers are those that are used. Those in Go are built at the versions in tools/go.mod, so
// that no other module depends on them.
var allPeers = []peer{
	{"postage", "go build ./cmd/postage"},
	{"wrk", "apt-get install wrk"},
	{"h2load", "apt-get install nghttp2-client"},
	{"vegeta", "go build github.com/tsenart/vegeta/v12"},
	{"k6", "go build go.k6.io/k6"},
	{"fortio", "go build fortio.org/fortio"},
	{"oha", "cargo install --locked --version 1.16.0 oha"},
}

// peers are the paths of the programs, by name. A missing program has none.
type peers struct {
	paths  map[string]string
	folder string
}

// A peerGroup has generators that do the same work against the same server.
type peerGroup struct {
	name       string
	protocol   string // http1, http2 or h2 (over TLS)
	rate       int    // requests a second, 0 for as many as possible
	generators []generator
}

// A generator is one program with its arguments; the first of a group is postage load.
type generator struct {
	peer string
	args string // {url}, {ca}, {rate}, {seconds} and {folder} are filled in
	env  []string
}

var oneThread = []string{"GOMAXPROCS=1", "TOKIO_WORKER_THREADS=1"}

// peerGroups are those without a rate, as fast as each can on one thread, and those with one, with
// as many threads as each likes. HTTP/1.1 has 16 connections, HTTP/2 100 streams on one, since
// vegeta makes only one.
var peerGroups = []peerGroup{
	{"HTTP/1.1, 16 connections", "http1", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http1 --conns 16 --duration {seconds}s {url}", nil},
		{"wrk", "-t1 -c16 -d{seconds}s {url}", nil},
		{"h2load", "--h1 -t1 -c16 -D {seconds} {url}", nil},
		{"vegeta", "-cpus 1 attack -targets {folder}/targets -output /dev/null -rate 0 -max-workers 16 -max-body 0 -http2=false -duration {seconds}s", nil},
		{"k6", "run --quiet --no-usage-report --no-thresholds --vus 16 --duration {seconds}s -e URL={url} {folder}/script.js", oneThread},
		{"fortio", "load -loglevel Error -qps 0 -c 16 -t {seconds}s {url}", oneThread},
		{"oha", "--no-tui -z {seconds}s -c 16 {url}", oneThread},
	}},
	{"HTTP/2 without TLS, 1 connection, 100 streams", "http2", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http2 --conns 1 --streams 100 --duration {seconds}s {url}", nil},
		{"h2load", "-t1 -c1 -m100 -D {seconds} {url}", nil},
		{"vegeta", "-cpus 1 attack -targets {folder}/targets -output /dev/null -rate 0 -max-workers 100 -max-body 0 -h2c -duration {seconds}s", nil},
		{"oha", "--no-tui -z {seconds}s --http2 -c 1 -p 100 {url}", oneThread},
	}},
	{"HTTP/2 over TLS, 1 connection, 100 streams", "h2", 0, []generator{
		{"postage", "load --cpu 1 --rate max --proto http2 --conns 1 --streams 100 --ca {ca} --duration {seconds}s {url}", nil},
		{"h2load", "-t1 -c1 -m100 -D {seconds} {url}", nil},
	}},
	pacedAt(10_000), pacedAt(50_000),
}

// pacedAt has a rate. wrk has none, and h2load's is for each connection.
func pacedAt(rate int) peerGroup {
	return peerGroup{fmt.Sprintf("HTTP/1.1 paced, 100 connections, %d a second", rate), "http1", rate, []generator{
		{"postage", "load --rate {rate} --proto http1 --conns 100 --duration {seconds}s {url}", nil},
		{"h2load", fmt.Sprintf("--h1 -t1 -c100 --rps %d -D {seconds} {url}", rate/100), nil},
		{"vegeta", "attack -targets {folder}/targets -output /dev/null -rate {rate} -max-workers 100 -max-body 0 -http2=false -duration {seconds}s", nil},
		{"k6", "run --quiet --no-usage-report --no-thresholds -e URL={url} -e RATE={rate} -e SECONDS={seconds} {folder}/script.js", nil},
		{"fortio", "load -loglevel Error -qps {rate} -c 100 -t {seconds}s {url}", nil},
		{"oha", "--no-tui -z {seconds}s -q {rate} -c 100 {url}", nil},
	}}
}

// k6Script is what k6 runs.
const k6Script = `import http from 'k6/http';
export const options = { discardResponseBodies: true };
if (__ENV.RATE) {
  options.scenarios = { paced: { executor: 'constant-arrival-rate', rate: +__ENV.RATE, duration: __ENV.SECONDS + 's', preAllocatedVUs: 100 } };
}
export default function () { http.get(__ENV.URL); }
`

// findPeers finds or builds the programs that were asked for, and says what is missing.
func findPeers(t *testing.T) peers {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") != "hours" {
		t.Skip("a quarter of an hour, on a machine with nothing else to do: POSTAGE_LONG=hours")
	}
	folder, err := os.MkdirTemp("", "peers") // a short name, for a UNIX socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	p := peers{map[string]string{}, folder}
	for _, one := range allPeers {
		if one.name != "postage" && *peerNames != "" && !slices.Contains(strings.Split(*peerNames, ","), one.name) {
			continue
		}
		path := filepath.Join(folder, one.name)
		if build, ok := strings.CutPrefix(one.install, "go build "); ok {
			cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, build)
			cmd.Dir = ".."
			if one.name != "postage" {
				cmd.Dir = filepath.Join("..", "tools")
				cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace also loads older modules, and packages become ambiguous
			}
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("build %s: %v\n%s", one.name, err, text)
			}
		} else if path, err = exec.LookPath(one.name); err != nil {
			t.Logf("%s is left out because it is not installed: %s", one.name, one.install)
			continue
		}
		p.paths[one.name] = path
	}
	if err := os.WriteFile(filepath.Join(folder, "script.js"), []byte(k6Script), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// A peerServer answers at once and counts what it answers.
type peerServer struct {
	url      string
	ca       string // path of its certificate
	requests func() (int64, error)
}

// TestPeers compares `postage load` with established load generators: how many requests each sends
// for one second of its own CPU time. It logs rows of Markdown: what, generator, requests
// for a CPU second, requests a second, and how many times as many postage load sends.
//
//	POSTAGE_LONG=hours go test ./load -run TestPeers -v -timeout 1h
//	POSTAGE_LONG=hours go test ./load -run 'TestPeers/HTTP.1' -v -args -peers wrk,h2load -turns 2
//
// The server counts the requests, and the kernel the CPU time, both between two moments in the
// middle of a run. Nothing that a generator does when it starts, or when it sums up, is counted,
// and all generators are counted alike. Each turn runs all generators of a group in a new random
// order.
//
// nginx answers at once with a fixed answer.
func TestPeers(t *testing.T) {
	p, shuffle := findPeers(t), rand.New(rand.NewPCG(*peerSeed, 0))
	for _, g := range peerGroups {
		t.Run(strings.ReplaceAll(g.name, "/", " "), func(t *testing.T) { // a slash is between levels of tests
			g.measure(t, p, startNginx(t, g.protocol), shuffle)
		})
	}
}

// measure lets the generators take turns, and logs the results.
func (g peerGroup) measure(t *testing.T, p peers, s peerServer, shuffle *rand.Rand) {
	present := slices.DeleteFunc(slices.Clone(g.generators), func(g generator) bool { return p.paths[g.peer] == "" })
	turns, before := *peerTurns, loadAverage()
	if g.rate > 0 {
		turns = min(turns, 3)
	}
	perCPU, perSecond, ratio := make([]figures, len(present)), make([]figures, len(present)), make([]figures, len(present))
	for range turns {
		for _, i := range shuffle.Perm(len(present)) {
			seconds := *peerOthers
			if g.rate == 0 && slices.Contains([]string{"postage", "wrk", "h2load"}, present[i].peer) {
				seconds = *peerSeconds
			}
			cpu, wall, err := present[i].sample(t.Context(), p, s, g.rate, seconds)
			if err != nil {
				t.Fatalf("%s: %v", present[i].peer, err)
			}
			perCPU[i], perSecond[i] = append(perCPU[i], cpu), append(perSecond[i], wall)
		}
		for i := range present {
			ratio[i] = append(ratio[i], perCPU[0][len(perCPU[0])-1]/perCPU[i][len(perCPU[i])-1])
		}
	}
	for i, one := range present {
		t.Logf("| %s | %s | %s | %.0f | %s |", g.name, one.peer, perCPU[i].format("%.0f"), stats.Median(perSecond[i]), ratio[i].format("%.2f"))
	}
	t.Logf("%d turns (lowest to highest); load average %s at the beginning and %s at the end", turns, before, loadAverage())
}

// figures are the values of one quantity in several turns.
type figures []float64

// format returns the median, with the lowest and the highest value.
func (f figures) format(one string) string {
	if len(f) == 0 {
		return "n/a"
	}
	return fmt.Sprintf(one+" ("+one+" to "+one+")", stats.Median(f), slices.Min(f), slices.Max(f))
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// settles is how long a generator sends before it is measured. longest is how long it may take to
// begin.
const (
	settles = 500 * time.Millisecond
	longest = 20 * time.Second
)

// sample starts a generator, measures it for some seconds once it has begun, and ends it. It
// returns its requests for a second of its CPU time, and a second.
func (g generator) sample(ctx context.Context, p peers, s peerServer, rate, seconds int) (perCPU, perSecond float64, err error) {
	if err := os.WriteFile(filepath.Join(p.folder, "targets"), []byte("GET "+s.url+"\n"), 0o600); err != nil { // for vegeta
		return 0, 0, err
	}
	fill := strings.NewReplacer("{url}", s.url, "{ca}", s.ca, "{rate}", strconv.Itoa(rate), "{seconds}", strconv.Itoa(seconds+3), "{folder}", p.folder)
	var args []string
	for _, a := range strings.Fields(g.args) {
		args = append(args, fill.Replace(a))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.paths[g.peer], args...)
	cmd.Env = append(os.Environ(), g.env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	wait := func(d time.Duration) error {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("%s ended before it was measured: %v\n%s", strings.Join(cmd.Args, " "), err, said.Bytes())
		case <-time.After(d):
			return nil
		}
	}
	var first, begun, last moment
	err = first.read(s, cmd.Process.Pid)
	for begun = first; err == nil && begun.requests < first.requests+100; {
		if begun.at.Sub(first.at) > longest {
			err = fmt.Errorf("%s sent nothing for %v", strings.Join(cmd.Args, " "), longest)
		} else if err = wait(50 * time.Millisecond); err == nil {
			err = begun.read(s, cmd.Process.Pid)
		}
	}
	for _, step := range []struct {
		lasts time.Duration
		then  *moment
	}{{settles, &begun}, {time.Duration(seconds) * time.Second, &last}} {
		if err == nil {
			err = wait(step.lasts)
		}
		if err == nil {
			err = step.then.read(s, cmd.Process.Pid)
		}
	}
	cancel()
	<-ended
	requests := float64(last.requests - begun.requests)
	return requests / (last.cpu - begun.cpu).Seconds(), requests / last.at.Sub(begun.at).Seconds(), err
}

// A moment has the counters as they were at one time.
type moment struct {
	at       time.Time
	requests int64
	cpu      time.Duration
}

func (m *moment) read(s peerServer, pid int) (err error) {
	if m.requests, err = s.requests(); err != nil {
		return err
	}
	m.at = time.Now()
	m.cpu, err = treeCPU(pid)
	return err
}

// startNginx has one worker process, since every generator has one thread.
func startNginx(t *testing.T, protocol string) peerServer {
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx: apt-get install nginx-light")
	}
	dir, err := os.MkdirTemp("", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pair := certificate(t)
	version, scheme := "", "http"
	switch protocol {
	case "http2":
		version = "http2"
	case "h2":
		scheme = "https"
	}
	port := startReal(t, &realServer{program: "nginx", args: []string{"-e", "DIR/error.log", "-p", "DIR", "-c", "DIR/nginx.conf"}, files: map[string]string{"nginx.conf": `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log; events { worker_connections 16384; }
http { access_log off; keepalive_requests 1000000000; default_type application/json;
client_body_temp_path DIR; proxy_temp_path DIR; fastcgi_temp_path DIR; uwsgi_temp_path DIR; scgi_temp_path DIR;
server { listen 127.0.0.1:PORT TLS(ssl http2) ` + version + `; TLS(ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;) location / { return 200 '{"secure":"raw"}'; } }
server { listen unix:DIR/status; location / { stub_status; } } }`}}, path, dir, pair, scheme == "https")
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "status"))
	}}}
	t.Cleanup(client.CloseIdleConnections)
	return peerServer{scheme + "://127.0.0.1:" + port + "/", filepath.Join(dir, "cert.pem"), func() (n int64, err error) {
		response, err := client.Get("http://status/")
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if lines := strings.Split(string(text), "\n"); err == nil && len(lines) > 2 {
			if _, err = fmt.Sscan(lines[2], new(int64), new(int64), &n); err == nil { // accepted, handled, requests
				return n, nil
			}
		}
		return 0, errors.Join(fmt.Errorf("nginx's status cannot be read: %q", text), err)
	}}
}
