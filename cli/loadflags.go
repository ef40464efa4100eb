package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"postage/load"
)

// loadFlags are the flags of `postage load`.
type loadFlags struct {
	fleet fleetFlags

	// When, and how much.
	rate                            rateFlag
	duration, wait, timeout, warmUp time.Duration
	arrivals, stages                string
	most                            int64

	// What is sent, where to and how.
	proto, verb, method, protoFile, body, targets, data, replay string
	headers                                                     []string
	conns, streams, cpu, messages                               int
	speed                                                       float64
	cookies, insecure                                           bool
	ca, cert, key, connectTo                                    string
	secure                                                      bool
	stall, link                                                 string
	kept                                                        func() error // what tells whether the link was

	// What is a success, and what is written.
	expect, slo                                                string
	objectives                                                 []load.Objective // of slo
	asserts                                                    []string
	json, schema                                               bool
	hgrm, csv, hlog, html, prometheus, prometheusWrite, config string
	serverPID                                                  int
	serverMetrics                                              string
}

// registerSending registers the flags that say what is sent, and when.
func (f *loadFlags) registerSending(flags *pflag.FlagSet) {
	f.rate = 100
	flags.Var(&f.rate, "rate", "requests a second, or max")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to send")
	flags.DurationVar(&f.wait, "wait", 30*time.Second, "how long to wait for answers after that")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "the most that a connection, or the answer to a request, may take")
	flags.StringVar(&f.arrivals, "arrivals", "constant", "when requests are due: constant (evenly spaced) or poisson (at random, as from many users)")
	flags.StringVar(&f.stages, "stages", "", "rates that change, in place of --rate and --duration: `10s:0..500,1m:500` is a ramp followed by a constant rate")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "send for this long first, without counting it")
	flags.StringVar(&f.proto, "proto", "http1", "`name`: http1, http2 (prior knowledge without TLS), http3, grpc, connect, grpc-web, sse (server-sent events), websocket (or a ws:// URL)")
	flags.StringVarP(&f.verb, "request", "X", "", "HTTP `method` (default GET, or POST with a body)")
	flags.StringVar(&f.method, "method", "", "gRPC method, such as `pkg.S/Call`")
	flags.IntVarP(&f.conns, "conns", "c", 10, "`number` of connections")
	flags.IntVar(&f.streams, "streams", 10, "most requests at a time on each (http1: 1)")
	flags.StringVarP(&f.body, "body", "d", "", "`text` or @file; for gRPC, the message as JSON")
	flags.StringVar(&f.targets, "targets", "", "`file` of requests to send in turn, in place of the URL, in vegeta's formats (lines or JSON)")
	flags.StringVar(&f.data, "data", "", "CSV or NDJSON `file` with values for {{name}} in URLs, header fields and bodies, a row at a time")
	flags.StringVar(&f.replay, "replay", "", "send the requests of an access log (combined format or JSON lines) or HAR `file`, at their recorded times")
	flags.Float64Var(&f.speed, "speed", 1, "how many times as fast to replay")
	flags.BoolVar(&f.cookies, "cookies", false, "keep cookies: each connection, or each stream of one, is a visitor with its own")
	f.registerTrust(flags)
	flags.StringVar(&f.protoFile, "proto-file", "", ".proto `file` that describes the method, for servers without reflection")
	flags.IntVar(&f.messages, "messages", 1, "messages to send on each stream, for gRPC methods that take several; for sse, events to wait for (0: all)")
	flags.Int64VarP(&f.most, "max-requests", "n", 0, "send no more than this many")
	flags.StringVar(&f.connectTo, "connect-to", "", "connect to this `address` (host:port, or the path of a UNIX socket) in place of the URL's")
}

// registerTrust registers those that postage profile has too.
func (f *loadFlags) registerTrust(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "`field`, name: value, may be repeated")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the server's certificate")
	flags.StringVar(&f.ca, "ca", "", "PEM `file` with the certificates to trust")
	flags.StringVar(&f.cert, "cert", "", "PEM `file` with a certificate to show to the server (mTLS)")
	flags.StringVar(&f.key, "key", "", "PEM `file` with its key")
}

// registerOutput registers the others but a fleet's: what a success is, and what is written.
func (f *loadFlags) registerOutput(flags *pflag.FlagSet) {
	flags.StringVar(&f.slo, "slo", "", "find the highest rate that keeps `objectives`")
	flags.StringArrayVar(&f.asserts, "assert", nil, "`objective` such as p99<5ms, max<=1s, mean<2ms, errors<0.1%, 503<1%, rate>=990; the exit status is 1 if it is not kept; may be repeated")
	flags.BoolVar(&f.secure, "tls", false, "the built-in server uses TLS (HTTP/3 always does)")
	flags.IntVar(&f.cpu, "cpu", 0, "processors to use (GOMAXPROCS), 0 for all")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.hgrm, "hgrm", "", "write the whole distribution to `file`, for HdrHistogram's plotters")
	flags.StringVar(&f.csv, "csv", "", "write a line for each second to `file`")
	flags.StringVar(&f.html, "html", "", "write a page with plots to `file`")
	flags.StringVar(&f.hlog, "hdr-log", "", "write the distribution of each second to `file`, in HdrHistogram's log format")
	flags.StringVar(&f.prometheus, "prometheus", "", "serve the metrics to Prometheus on `address`, such as :9464, at /metrics")
	flags.StringVar(&f.prometheusWrite, "prometheus-write", "", "send the metrics every second to `URL` by Prometheus' remote write")
	flags.StringVar(&f.config, "config", "", "YAML `file` with any of these flags by name, and url; flags given here override it")
	flags.BoolVar(&f.schema, "config-schema", false, "print the JSON schema of that file, for editors")
	flags.StringVar(&f.stall, "server-stall", "", "the built-in server stalls for `length/interval`, such as 200ms/2s")
	flags.StringVar(&f.link, "link", "", "a `network` between here and the built-in server, such as rtt=20ms,loss=1%,rate=50mbit; see docs/network.md")
	flags.StringVar(&f.expect, "expect", "", "`statuses` that are successes, such as 2xx,304")
	flags.IntVar(&f.serverPID, "server-pid", 0, "also measure the CPU time of the server: the process `PID` here, and those that it started")
	flags.StringVar(&f.serverMetrics, "server-metrics", "", "also measure the CPU time, allocations and garbage collections that the server exports to Prometheus at `URL`")
}

// loadGroups are the flags of `postage load` as its help lists them.
var loadGroups = []flagGroup{
	{"What is sent", "request header body targets data replay speed cookies method proto-file messages"},
	{"When, and how much", "rate duration max-requests stages arrivals warm-up wait timeout"},
	{"Where to, and how", "proto conns streams connect-to insecure ca cert key cpu"},
	{"What is a success", "expect assert slo"},
	{"Output", "json csv html hgrm hdr-log prometheus prometheus-write server-pid server-metrics"},
	{"On Kubernetes", "kubernetes workers image namespace kubeconfig service-account host-network attach"},
	{"The built-in server", "tls server-stall link"},
	{"This command", "config config-schema help"},
}

// A rateFlag is a rate in requests a second; 0 is "max".
type rateFlag float64

func (r *rateFlag) String() string {
	if *r == 0 {
		return "max"
	}
	return strconv.FormatFloat(float64(*r), 'g', -1, 64)
}

func (r *rateFlag) Set(text string) error {
	if text == "max" {
		*r = 0
		return nil
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return errors.New("want requests a second, such as 500, or max")
	}
	*r = rateFlag(rate)
	return nil
}

func (r *rateFlag) Type() string { return "rate" }

// httpToken matches a method of HTTP: RFC 9110 section 5.6.2.
var httpToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// A refusal says what is wrong, if it is, and what to do instead.
type refusal struct {
	wrong      bool
	what, hint string
}

// refuse returns the first thing that is wrong.
func refuse(all []refusal) error {
	for _, r := range all {
		switch {
		case r.wrong && r.hint != "":
			return hinted(errors.New(r.what), r.hint)
		case r.wrong:
			return errors.New(r.what)
		}
	}
	return nil
}

// check rejects flags that cannot be combined.
func (f *loadFlags) check(args []string) error {
	grpc := slices.Contains([]string{"grpc", "grpc-web", "connect"}, f.proto)
	return refuse([]refusal{
		{!slices.Contains(loadProtos, f.proto), fmt.Sprintf("--proto %q", f.proto), "want http1, http2, http3, grpc, websocket, connect, grpc-web or sse"},
		{f.proto == "websocket" && (f.cookies || f.verb != ""), "--cookies and --request are for HTTP, not for WebSocket", ""},
		{slices.Contains(loadProtos[4:], f.proto) && len(args) == 0 && f.targets == "", "the built-in server has no " + f.proto, "give the URL of another; for WebSocket, ws:// or wss://, of one that echoes"},
		{grpc && (f.cookies || f.replay != ""), "--cookies and --replay are for HTTP, not for gRPC", ""},
		{!(f.speed > 0), "--speed must be more than 0", ""},
		{f.speed != 1 && f.replay == "", "--speed goes with --replay", ""},
		{f.replay != "" && (f.targets != "" || f.data != "" || f.body != "" || f.verb != "" || f.stages != "" || f.slo != "" || f.warmUp > 0 || f.arrivals != "constant"), "--replay says what is sent and when", "leave out --targets, --data, --body, --request, --stages, --slo, --warm-up and --arrivals"},
		{f.duration <= 0 || f.wait <= 0 || f.timeout <= 0, "--duration, --wait and --timeout must be more than 0", ""},
		{!slices.Contains(loadArrivals, f.arrivals), fmt.Sprintf("--arrivals %q", f.arrivals), "want constant or poisson"},
		{f.arrivals == "poisson" && f.rate == 0, "--arrivals poisson needs a rate", "give --rate, such as 100"},
		{f.conns < 1 || f.streams < 1, "--conns and --streams must be at least 1", ""},
		{f.stages != "" && f.slo != "", "--slo looks for one rate, and --stages has others", "give one of them"},
		{f.targets != "" && (len(args) > 0 || f.body != "" || f.verb != ""), "--targets says what is sent", "leave the URL, --body and --request out"},
		{f.targets != "" && (f.secure || f.stall != "" || f.link != ""), "--tls, --server-stall and --link are for the built-in server", ""},
		{f.data != "" && f.targets == "" && len(args) == 0, "the built-in server is sent its own request, which has no place for --data", "give a URL or --targets"},
		{f.warmUp < 0, "--warm-up must be at least 0", ""},
		{(f.cert == "") != (f.key == ""), "--cert and --key go together", ""},
		{f.slo != "" && (f.csv != "" || f.hlog != "" || f.html != "" || f.prometheus != "" || f.prometheusWrite != ""), "--csv, --hdr-log, --html and --prometheus are for one run, and --slo makes several", ""},
		{f.slo != "" && (f.serverPID != 0 || f.serverMetrics != ""), "--server-pid and --server-metrics are for one run, and --slo makes several", ""},
		{f.most < 0, "--max-requests must be at least 0, which is no limit", ""},
		{f.most > 0 && (f.slo != "" || f.stages != "" || f.replay != "" || f.arrivals != "constant" || f.fleet.on), "--max-requests is for one run at one rate", "leave out --slo, --stages, --replay, --arrivals and --kubernetes"},
		{f.expect != "" && (grpc || f.proto == "websocket"), "--expect is for HTTP's statuses", ""},
		{strings.HasPrefix(f.connectTo, "/") && f.proto == "http3", "--connect-to: QUIC runs over UDP, and not over a UNIX socket", ""},
		{f.cpu < 0, "--cpu must be at least 0, which is all", ""},
		{f.slo != "" && f.rate == 0, "--slo needs a rate to begin with", "give --rate, such as 100"},
		{grpc && f.verb != "", fmt.Sprintf("--request %s: gRPC is always POST", f.verb), "--method pkg.Service/Method says what to call"},
		{grpc && f.method == "" && len(args) > 0, "gRPC needs a method", "give --method pkg.Service/Method"},
		{!grpc && f.method != "", fmt.Sprintf("--method %s is a method of gRPC, and --proto is %s", f.method, f.proto), "--request (-X) is HTTP's method; --proto grpc calls one of gRPC"},
		{f.messages < 1 && (f.proto != "sse" || f.messages < 0), "--messages must be at least 1", ""},
		{!grpc && f.proto != "sse" && f.messages != 1, "--messages is for streams of gRPC", "give --proto grpc and --method"},
		{!grpc && f.protoFile != "", "--proto-file goes with gRPC", "give --proto grpc and --method"},
		{f.verb != "" && !httpToken.MatchString(f.verb), fmt.Sprintf("--request %q is not an HTTP method", f.verb), ""},
		{len(args) == 0 && f.method != "", "the built-in server has one method, which needs no --method", "give the URL of another"},
		{len(args) == 0 && f.verb != "" && f.replay == "", "the built-in server is sent its own request", "give the URL of another"},
		{len(args) > 0 && (f.secure || f.stall != "" || f.link != ""), "--tls, --server-stall and --link are for the built-in server", "for TLS give an https URL"},
	})
}
