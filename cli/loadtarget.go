//go:build !benchonly

package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"postage/internal/kit/words"
	"postage/internal/service/greeter"
	"postage/load"
)

// target returns the target that the flags describe, and when requests are due. Without a URL it
// starts the built-in server, which stop ends.
func (f *loadFlags) target(cmd *cobra.Command, args []string) (t *load.Target, pacer load.Pacer, stop func() error, err error) {
	stop = func() error { return nil }
	var u *url.URL
	pacer = f.pacer()
	t, err = f.bareTarget()
	if err == nil && len(args) > 0 {
		if u, err = load.ParseURL(args[0]); err != nil {
			err = hinted(err, "for gRPC too: http is without TLS; for WebSocket ws:// or wss://")
		}
	}
	if err != nil {
		return nil, nil, stop, err
	}
	switch {
	case f.targets != "":
		if t.Requests, err = load.ReadTargets(f.targets); err != nil {
			return nil, nil, stop, fmt.Errorf("--targets: %w", err)
		}
	case f.replay != "":
		replay, err := load.ReadReplay(f.replay, u, cmp.Or(f.rate.speed, 1))
		if err != nil {
			return nil, nil, stop, fmt.Errorf("--replay: %w", err)
		}
		if replay.LeftOut > 0 {
			say(cmd, "%d entries of %s are no requests, went to other servers, or had bodies that the file does not have: left out", replay.LeftOut, f.replay)
		}
		if replay.Bodyless > 0 {
			say(cmd, "%d requests of %s had a body that a log does not have: they are sent without", replay.Bodyless, f.replay)
		}
		t.Requests, pacer = replay.Requests, replay.Pacer()
	case u == nil:
		if stop, err = builtIn(cmd.Context(), t); err != nil {
			return nil, nil, stop, err
		}
	default:
		t.Request.URL = u
	}
	if constant, ok := pacer.(load.Constant); ok && constant.Rate > 0 && constant.Rate <= oneLoopMost && f.slo == "" {
		t.Loops = 1
	}
	withHeader(t.Requests, t.Request.Header)
	if err = f.fillIn(cmd, t); err == nil {
		err = refuseProxy(t)
	}
	return t, pacer, stop, err
}

// oneLoopMost is the rate up to which one thread sends everything. With two, each wakes up for every
// other request and its answer, which takes a quarter more CPU time.
const oneLoopMost = 10_000

// refuseProxy refuses the proxy that the environment names for a target. Its connections would be
// the proxy's, and so would the latencies.
func refuseProxy(t *load.Target) error {
	u := t.All()[0].URL
	if t.ConnectTo != "" {
		return nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return err
	}
	return hinted(
		fmt.Errorf("the environment names a proxy for %s, %s, and load connects directly", u.Host, proxy.Redacted()),
		"add the host to NO_PROXY, or load the proxy with --connect-to "+proxy.Host,
	)
}

// bareTarget is a target without a URL.
func (f *loadFlags) bareTarget() (t *load.Target, err error) {
	t = &load.Target{
		Proto: f.proto, Conns: f.conns, Streams: f.streams, ConnectTo: f.connectTo,
		Timeout: f.timeout, Cookies: f.cookies,
		RPC: f.method, Messages: f.messages, ProtoFile: f.protoFile, ProtoPaths: f.protoPaths,
	}
	t.Request.Header = http.Header{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q: want name: value", h)
		}
		t.Request.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.body != "" {
		if err := f.readBody(t); err != nil {
			return nil, fmt.Errorf("--body: %w", err)
		}
	}
	for _, text := range f.expect {
		body, found, err := load.ParseBody(text)
		if found {
			t.Body = body
		} else if err == nil {
			t.Expect, err = load.ParseStatuses(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--expect: %w", err)
		}
	}
	if f.insecure || f.ca != "" || f.cert != "" || f.tickets {
		t.TLS, err = f.trust()
	}
	return t, err
}

// fillIn completes the method, and fills in what --data has.
func (f *loadFlags) fillIn(cmd *cobra.Command, t *load.Target) error {
	if t.Request.Method = cmp.Or(f.verb, http.MethodGet); f.verb == "" && len(t.Request.Body) > 0 {
		t.Request.Method = http.MethodPost
	}
	if f.verb != "GET" && slices.Contains(loadProtos[:2], f.proto) && load.IsJSON(t.Request.Body) && t.Request.Header.Get("Content-Type") == "" {
		t.Request.Header.Set("Content-Type", "application/json")
	}
	if f.data != "" {
		filled, rows, left, err := load.FillIn(t.All(), f.data)
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		if t.Requests = filled; left {
			say(cmd, "--data: the first %s are used, in turn: more take too much memory", words.Counted(rows, "row"))
		}
	}
	for _, r := range t.All() {
		if r.URL != nil && f.replay == "" && unfilled.MatchString(r.URL.Path+r.URL.RawQuery) {
			return hinted(fmt.Errorf("the URL %s has {{name}} in it, and nothing to fill it with", r.URL.Redacted()), "give --data FILE, whose columns have these names")
		}
	}
	return nil
}

// unfilled matches {{name}}, and not {{.json.name}}, which an answer fills in.
var unfilled = regexp.MustCompile(`\{\{\s*[^.\s]`)

// readBody takes the body from the flag, or from the file that it names.
func (f *loadFlags) readBody(t *load.Target) (err error) {
	if f.body == "@-" {
		t.Request.Body, err = io.ReadAll(os.Stdin)
		return err
	}
	if file, ok := strings.CutPrefix(f.body, "@"); ok {
		t.Request.Body, err = os.ReadFile(file)
		return err
	}
	if info, err := os.Stat(f.body); err == nil && !info.IsDir() {
		return hinted(fmt.Errorf("%q is the name of a file, and would be sent as it stands", f.body), "give --body @"+f.body+" to send what is in it")
	}
	t.Request.Body = []byte(f.body)
	return nil
}

// withHeader adds fields to requests that do not have them.
func withHeader(requests []load.Request, header http.Header) {
	for i := range requests {
		for name, values := range header {
			if requests[i].Header.Get(name) == "" {
				requests[i].Header[name] = values
			}
		}
	}
}

func (f *loadFlags) trust() (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: f.insecure}
	if f.tickets {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--cert %s, --key %s: %w", f.cert, f.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s contains no PEM certificate", f.ca)
		}
	}
	return config, nil
}

// builtIn starts the built-in server and makes it the target.
func builtIn(ctx context.Context, t *load.Target) (stop func() error, err error) {
	server, err := greeter.Start(ctx, greeter.Config{Server: "nethttp", Body: "json"})
	if err != nil {
		return func() error { return nil }, err
	}
	t.Request.URL = &url.URL{Scheme: "http", Host: server.Addr, Path: "/"}
	if len(t.Request.Body) == 0 {
		t.Request.Body = []byte(`{"secure":"raw"}`)
	}
	return server.Close, nil
}
