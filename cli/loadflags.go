//go:build !benchonly

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
	sides againstFlags

	// When, and how much.
	rate                    rateFlag
	duration, wait, timeout time.Duration
	warmUp, giveUp          time.Duration
	arrivals                string
	most                    int64

	// What is sent, where to and how.
	proto, verb, method, protoFile string
	body, targets, data, replay    string
	headers, protoPaths            []string
	conns, streams, cpu, messages  int
	cookies, insecure, tickets     bool
	ca, cert, key, connectTo       string

	// What is a success, and what is written.
	expect                        []string
	slo                           string
	objectives                    []load.Objective // of slo
	asserts                       []string
	json                          bool
	csv, hlog, prometheus, server string
}

// The possible values of flags that have only a few.
var (
	loadProtos   = []string{"http1", "http2", "grpc", "websocket", "sse"}
	loadArrivals = []string{"constant", "poisson"}
)

// registerSending registers the flags that say what is sent, and when.
func (f *loadFlags) registerSending(flags *pflag.FlagSet) {
	f.rate.rate = 100
	flags.Var(&f.rate, "rate", "requests a second, max, or with --replay a pace (10x)")
	flags.DurationVar(&f.duration, "duration", 10*time.Second, "how long to send")
	flags.DurationVar(&f.wait, "wait", 30*time.Second, "how long to wait for answers after that")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a connection, or an answer, may take")
	flags.DurationVar(&f.giveUp, "give-up", 3*time.Second, "end a run that nothing answers for so long; 0 for never")
	flags.StringVar(&f.arrivals, "arrivals", "constant", "when requests are due: constant (evenly spaced) or poisson (at random, as from many users)")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "send for this long first, without counting it")
	flags.StringVar(&f.proto, "proto", "http1", "protocol `name`: http1, http2, grpc, sse or websocket")
	flags.StringVarP(&f.verb, "request", "X", "", "HTTP `method` (default GET, or POST with a body)")
	flags.StringVar(&f.method, "method", "", "gRPC method, such as `pkg.S/Call`")
	flags.IntVarP(&f.conns, "conns", "c", 10, "`number` of connections")
	flags.IntVar(&f.streams, "streams", 10, "most requests at a time on each (http1: 1)")
	flags.StringVarP(&f.body, "body", "d", "", "`text` or @file (@- is standard input); for gRPC, the message as JSON")
	flags.StringVar(&f.targets, "targets", "", "`file` (- is standard input) of requests to send in turn, in place of the URL, in vegeta's format of lines")
	flags.StringVar(&f.data, "data", "", "CSV `file` with values for {{name}} in URLs, header fields and bodies, a row at a time")
	flags.StringVar(&f.replay, "replay", "", "send the requests of an access log (combined format) or HAR `file`, at their recorded times")
	flags.BoolVar(&f.cookies, "cookies", false, "keep cookies: each connection, or each stream of one, is a visitor with its own")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "header `field` such as 'Accept: text/html', may be repeated")
	flags.BoolVar(&f.insecure, "insecure", false, "do not verify the server's certificate")
	flags.StringVar(&f.ca, "ca", "", "PEM `file` with the certificates to trust")
	flags.StringVar(&f.cert, "cert", "", "PEM `file` with a certificate to show to the server (mTLS)")
	flags.StringVar(&f.key, "key", "", "PEM `file` with its key")
	flags.BoolVar(&f.tickets, "tls-tickets", false, "keep the server's TLS tickets: connections after the first resume its session")
	flags.StringVar(&f.protoFile, "proto-file", "", ".proto `file`, or a descriptor set, that describes the method, for servers without reflection")
	flags.StringArrayVarP(&f.protoPaths, "proto-path", "I", nil, "`folder` that --proto-file's imports are looked for in, may be repeated")
	flags.IntVar(&f.messages, "messages", 1, "messages to send on each stream, for gRPC methods that take several; for sse, events to wait for (0: all)")
	flags.Int64VarP(&f.most, "max-requests", "n", 0, "send no more than this many")
	flags.StringVar(&f.connectTo, "connect-to", "", "connect to this `address` (host:port, or the path of a UNIX socket) in place of the URL's")
}

// registerOutput registers the flags that say what a success is, and what is written.
func (f *loadFlags) registerOutput(flags *pflag.FlagSet) {
	flags.StringVar(&f.slo, "slo", "", "find the highest rate that keeps `objectives`")
	flags.StringArrayVar(&f.asserts, "assert", nil, "fail unless this `objective` is kept: p99<5ms, errors<0.1% or rate>=990; may be repeated")
	flags.IntVar(&f.cpu, "cpu", 0, "processors to use (GOMAXPROCS), 0 for all")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.csv, "csv", "", "write a line for each second to `file`")
	flags.StringVar(&f.hlog, "hdr-log", "", "write the distribution of each second to `file`, in HdrHistogram's log format")
	flags.StringVar(&f.prometheus, "prometheus", "", "serve the metrics to Prometheus on `address`, such as :9464, at /metrics")
	flags.StringArrayVar(&f.expect, "expect", nil, "`statuses` that are successes (2xx,304), or what bodies match (body~ok, body!~errors); may be repeated")
	flags.StringVar(&f.server, "server", "", "also measure the server's CPU time: `PID` of a process here (with --against OLD,NEW), or the URL of its metrics for Prometheus, which have allocations and garbage collections too")
}

// loadGroups are the flags of `postage load` as its help lists them.
var loadGroups = []flagGroup{
	{"What is sent", "request header body targets data replay cookies method proto-file proto-path messages"},
	{"When, and how much", "rate duration max-requests arrivals warm-up wait timeout give-up"},
	{"Where to, and how", "proto conns streams connect-to insecure ca cert key tls-tickets cpu"},
	{"What is a success", "expect assert slo"},
	{"Two servers", "against at-once same-answers serve gate out"},
	{"Output", "json csv hdr-log prometheus server"},
	{"On Kubernetes", "kubernetes workers image namespace kubeconfig host-network attach"},
	{"This command", "help"},
}

// A rateFlag is a rate in requests a second, or what stands in its place.
type rateFlag struct {
	text  string // as it was given, "" for the default
	rate  float64
	max   bool
	speed float64 // of a replay, 0 if it is not given
}

func (r *rateFlag) String() string {
	if r.text != "" {
		return r.text
	}
	return strconv.FormatFloat(r.rate, 'g', -1, 64)
}

func (r *rateFlag) Set(text string) (err error) {
	*r = rateFlag{text: text}
	if text == "max" {
		r.max = true
		return nil
	}
	number, pace := strings.CutSuffix(text, "x")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !(rate > 0) || math.IsInf(rate, 0) {
		return errors.New("want requests a second, such as 500, or max")
	}
	if pace {
		r.speed = rate
	} else {
		r.rate = rate
	}
	return nil
}

func (r *rateFlag) Type() string { return "rate" }

// httpToken matches a method of HTTP: RFC 9110 section 5.6.2.
var httpToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// A refusal is something that may be wrong, and what to do instead.
type refusal struct {
	wrong      bool
	what, hint string
}

// refuse returns the first thing that is wrong.
func refuse(all []refusal) error {
	for _, r := range all {
		if r.wrong {
			return hinted(errors.New(r.what), r.hint)
		}
	}
	return nil
}

// check rejects flags that cannot be combined. paced says that they give a rate or a duration.
func (f *loadFlags) check(args []string, paced bool) error {
	grpc := f.proto == "grpc"
	return refuse([]refusal{
		{!slices.Contains(loadProtos, f.proto), fmt.Sprintf("--proto %q", f.proto), "want http1, http2, grpc, websocket or sse"},
		{f.proto == "websocket" && (f.cookies || f.verb != ""), "--cookies and --request are for HTTP, not for WebSocket", ""},
		{!slices.Contains(loadProtos[:2], f.proto) && len(args) == 0 && f.targets == "" && f.replay == "", "the built-in server has no " + f.proto, "give the URL of another; for WebSocket, ws:// or wss://, of one that echoes"},
		{grpc && (f.cookies || f.replay != ""), "--cookies and --replay are for HTTP, not for gRPC", ""},
		{f.rate.speed > 0 && f.replay == "", fmt.Sprintf("--rate %v is the pace of a --replay", &f.rate), "give requests a second, such as 100"},
		{f.replay != "" && (f.targets != "" || f.data != "" || f.body != "" || f.verb != "" || f.slo != "" || f.warmUp > 0 || f.arrivals != "constant"), "--replay says what is sent and when", "leave out --targets, --data, --body, --request, --slo, --warm-up and --arrivals"},
		{f.replay != "" && paced, "--replay says when requests are due", "leave --duration out, and --rate or give it a pace, such as 10x"},
		{f.duration <= 0 || f.wait <= 0 || f.timeout <= 0, "--duration, --wait and --timeout must be more than 0", ""},
		{!slices.Contains(loadArrivals, f.arrivals), fmt.Sprintf("--arrivals %q", f.arrivals), "want constant or poisson"},
		{f.conns < 1 || f.streams < 1, "--conns and --streams must be at least 1", ""},
		{f.targets != "" && (len(args) > 0 || f.body != "" || f.verb != ""), "--targets says what is sent", "leave the URL, --body and --request out"},
		{f.warmUp < 0 || f.giveUp < 0 || f.most < 0 || f.cpu < 0, "--warm-up, --give-up, --max-requests and --cpu must be at least 0", ""},
		{(f.cert == "") != (f.key == ""), "--cert and --key go together", ""},
		{f.slo != "" && f.sides.against == "" && (f.csv != "" || f.hlog != "" || f.prometheus != "" || f.server != ""), "--csv, --hdr-log, --prometheus and --server are for one run, and --slo makes several", ""},
		{f.most > 0 && (f.slo != "" || f.replay != "" || f.arrivals != "constant" || f.fleet.on), "--max-requests is for one run at one rate", "leave out --slo, --replay, --arrivals and --kubernetes"},
		{len(f.expect) > 0 && (grpc || f.proto == "websocket"), "--expect is for HTTP's statuses", ""},
		{f.rate.max && (f.slo != "" || f.arrivals == "poisson"), "--slo and --arrivals poisson need a rate", "give --rate, such as 100"},
		{grpc && f.verb != "", fmt.Sprintf("--request %s: gRPC is always POST", f.verb), "--method pkg.Service/Method says what to call"},
		{grpc && f.method == "" && len(args) > 0, "gRPC needs a method", "give --method pkg.Service/Method"},
		{!grpc && f.method != "", fmt.Sprintf("--method %s is a method of gRPC, and --proto is %s", f.method, f.proto), "--request (-X) is HTTP's method; --proto grpc calls one of gRPC"},
		{f.messages < 1 && (f.proto != "sse" || f.messages < 0), "--messages must be at least 1", ""},
		{!grpc && f.proto != "sse" && f.messages != 1, "--messages is for streams of gRPC", "give --proto grpc and --method"},
		{!grpc && f.protoFile != "" || f.protoFile == "" && len(f.protoPaths) > 0, "--proto-file goes with gRPC, and --proto-path with --proto-file", ""},
		{f.fleet.on && len(f.protoPaths) > 0, "--proto-path is not possible with --kubernetes: workers have one file", "give --proto-file a descriptor set, made with --include_imports"},
		{f.verb != "" && !httpToken.MatchString(f.verb), fmt.Sprintf("--request %q is not an HTTP method", f.verb), ""},
		{len(args) == 0 && f.targets == "" && (f.verb != "" || f.data != ""), "the built-in server is sent its own request", "give the URL of another"},
	})
}
