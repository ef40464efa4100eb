package load

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/service/tlscert"
	"postage/internal/sys/proc"
)

// A realServer is a program that others wrote. In its files and arguments PORT and DIR stand for
// where it listens and for the folder with its files.
type realServer struct {
	name    string
	program string            // or Python's module
	needs   []string          // a command that fails if something else is missing, and what that is
	files   map[string]string // by name; one is the access log's, made by the server
	args    []string
	env     []string
	protos  []string // http2 over TLS is h2
	log     string   // the access log: a line with /page a request
}

var realServers = []realServer{
	{name: "nginx, closing each connection after 10 requests", program: "nginx", protos: []string{"http1", "h2"}, log: "access.log", args: []string{"-p", "DIR", "-c", "DIR/nginx.conf"}, files: map[string]string{"nginx.conf": `
daemon off; pid DIR/pid; error_log DIR/error.log; events { worker_connections 1024; }
http { access_log DIR/access.log; keepalive_requests 10; client_body_temp_path DIR; proxy_temp_path DIR; fastcgi_temp_path DIR; uwsgi_temp_path DIR; scgi_temp_path DIR;
server { listen 127.0.0.1:PORT TLS(ssl http2); TLS(ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;) location / { return 200 "ok"; } } }`}},
	{name: "Caddy", program: "caddy", protos: []string{"http1", "h2"}, log: "access.log", args: []string{"run", "--config", "DIR/Caddyfile", "--adapter", "caddyfile"}, env: []string{"HOME=DIR"}, files: map[string]string{"Caddyfile": `{
	admin off
	auto_https off
}
TLS(https)PLAIN(http)://127.0.0.1:PORT {
	TLS(tls DIR/cert.pem DIR/key.pem)
	log {
		output file DIR/access.log
	}
	respond "ok"
}
`}},
	{name: "HAProxy, closing idle connections after 5 ms", program: "haproxy", protos: []string{"http1", "h2"}, log: "said", args: []string{"-f", "DIR/haproxy.cfg"}, files: map[string]string{"haproxy.cfg": `
global
  nbthread 1 # two threads lose lines of its log: 0.1% of 1,100,000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 60s
  timeout http-keep-alive 5ms
  log stdout format raw local0
  log-format "%HM %HP %ST %ts"
frontend f
  bind 127.0.0.1:PORT TLS(ssl crt DIR/both.pem alpn h2)
  http-request return status 200 content-type text/plain string ok
`}},
	{name: "Apache", program: "apache2", protos: []string{"http1", "http2", "h2"}, log: "access.log", args: []string{"-X", "-f", "DIR/apache.conf"}, files: map[string]string{"page": "ok", "apache.conf": `
ServerRoot DIR
ServerName h
PidFile DIR/pid
Listen 127.0.0.1:PORT
ErrorLog DIR/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
Protocols h2 h2c http/1.1
MaxKeepAliveRequests 10
User www-data
Group www-data
LogFormat "%U" u
CustomLog DIR/access.log u
DocumentRoot DIR
<Directory DIR>
Require all granted
</Directory>
TLS(SSLEngine on
SSLCertificateFile DIR/cert.pem
SSLCertificateKeyFile DIR/key.pem)
`}},
	{name: "lighttpd", program: "lighttpd", protos: []string{"http1", "http2"}, log: "access.log", args: []string{"-D", "-f", "DIR/lighttpd.conf"}, files: map[string]string{"page": "ok", "lighttpd.conf": `
server.document-root = "DIR"
server.bind = "127.0.0.1"
server.port = PORT
server.modules = ( "mod_accesslog" )
server.max-keep-alive-requests = 10
accesslog.filename = "DIR/access.log"
accesslog.format = "%U"
`}},
	{name: "Envoy, closing each connection after 10 requests", program: "envoy", protos: []string{"http1", "http2", "h2"}, log: "access.log", args: []string{"-c", "DIR/envoy.yaml", "--use-dynamic-base-id", "--file-flush-interval-msec", "100", "-l", "error"}, files: map[string]string{"envoy.yaml": envoy}},
	{name: "grpcio", program: "python3", needs: []string{"python3", "-c", "import grpc_health, grpc_reflection", "grpcio-health-checking and grpcio-reflection"}, protos: []string{"grpc"}, log: "access.log", args: []string{"DIR/server.py"}, files: map[string]string{"server.py": grpcio}},
	{name: "grpc-js", program: "node", needs: []string{"node", "-e", "require('@grpc/grpc-js')", "@grpc/grpc-js"}, protos: []string{"grpc"}, log: "access.log", args: []string{"DIR/server.js"}, files: map[string]string{"server.js": grpcJS}},
	{name: "better-sse", program: "node", needs: []string{"node", "-e", "require('better-sse')", "better-sse"}, protos: []string{"sse"}, log: "access.log", args: []string{"DIR/server.js"}, files: map[string]string{"server.js": betterSSE}},
	{name: "sse-starlette on uvicorn", program: "uvicorn", needs: []string{"python3", "-c", "import sse_starlette", "sse-starlette"}, protos: []string{"sse"}, log: "access.log", args: []string{"--app-dir", "DIR", "app:app", "--host", "127.0.0.1", "--port", "PORT", "--no-access-log"}, files: map[string]string{"app.py": starlette}},
	{name: "uvicorn", program: "uvicorn", protos: []string{"http1"}, log: "access.log", args: []string{"--app-dir", "DIR", "app:app", "--host", "127.0.0.1", "--port", "PORT", "--no-access-log"}, files: map[string]string{"app.py": asgi}},
	{name: "hypercorn", program: "hypercorn", protos: []string{"http1", "http2", "h2"}, log: "access.log", args: []string{"--bind", "127.0.0.1:PORT", "--keep-alive", "5", "TLS(--certfile)", "TLS(DIR/cert.pem)", "TLS(--keyfile)", "TLS(DIR/key.pem)", "app:app"}, files: map[string]string{"app.py": asgi}},
}

// Servers that others wrote count the requests that they get. Ours and theirs are the same, with
// connections that they close, and every request that we do not call a failure is in their log.
func TestRealServers(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("programs of others, two minutes: POSTAGE_LONG=1")
	}
	for _, s := range realServers {
		path, err := exec.LookPath(s.program)
		if err != nil {
			t.Run(s.name, func(t *testing.T) { t.Skipf("no %s: Debian's package of that name, or Python's", s.program) })
			continue
		}
		if n := len(s.needs) - 1; n > 0 && exec.Command(s.needs[0], s.needs[1:n]...).Run() != nil {
			t.Run(s.name, func(t *testing.T) { t.Skipf("no %s, of Python or npm (NODE_PATH)", s.needs[n]) })
			continue
		}
		for _, proto := range s.protos {
			t.Run(s.name+"/"+proto, func(t *testing.T) { tryReal(t, &s, path, proto) })
		}
	}
}

func tryReal(t *testing.T, s *realServer, path, proto string) {
	dir, secure := t.TempDir(), proto == "h2"
	if err := os.Chmod(dir, 0o777); err != nil { // for servers that change their user
		t.Fatal(err)
	}
	for up := dir; up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		_ = os.Chmod(up, 0o777)
	}
	pair := certificate(t)
	port := startReal(t, s, path, dir, pair, secure)
	target := &Target{Proto: proto, Conns: 5, Streams: 5, Timeout: 10 * time.Second, TLS: &tls.Config{RootCAs: pair.Pool(), ServerName: tlscert.ServerName}}
	scheme, where, methods := "http", "/page", []string{http.MethodGet, http.MethodHead}
	switch proto {
	case "h2":
		target.Proto = "http2"
	case "sse":
		target.Messages, methods = 3, methods[:1]
	case "grpc":
		target.RPC, where, methods = "grpc.health.v1.Health/Check", "", methods[:1]
		if s.name != "grpcio" { // which has the reflection of before 2023
			target.ProtoFile = filepath.Join(dir, "health.proto")
		}
	}
	if secure {
		scheme = "https"
	}
	const n = 1000
	for _, method := range methods {
		target.Request = Request{Method: method, URL: parsed(t, fmt.Sprintf("%s://127.0.0.1:%s%s", scheme, port, where))}
		pool, err := Open(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		before := counted(t, dir, s.log)
		r, err := Run(t.Context(), Plan{Pacer: Constant{500, n * time.Second / 500}, Patience: time.Minute, Lines: pool.Lines})
		if err != nil || r.Done != n {
			t.Fatalf("%v, %+v", err, r)
		}
		_ = pool.Close()
		for until := time.Now().Add(20 * time.Second); counted(t, dir, s.log)-before < n-r.Failed() && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		got := counted(t, dir, s.log) - before
		t.Logf("%s: %d requests, %d failed %v; the server counted %d", method, r.Done, r.Failed(), r.Errors, got)
		if got > n || got < n-r.Failed() || r.Failed() > n/20 {
			t.Errorf("%s: %d of %d failed, the server counted %d: %v", method, r.Failed(), n, got, r.Errors)
		}
	}
}

// startReal starts a server, and returns its port once it listens.
func startReal(t *testing.T, s *realServer, path, dir string, pair *tlscert.Pair, secure bool) (port string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	l.Close()
	fill := func(text string) string {
		return strings.NewReplacer("PORT", port, "DIR", dir).Replace(choose(text, secure))
	}
	files := map[string]string{"cert.pem": string(pair.Cert), "key.pem": string(pair.Key), "both.pem": string(pair.Cert) + string(pair.Key), "health.proto": healthProto}
	for name, text := range s.files {
		files[name] = fill(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var args []string
	for _, arg := range s.args {
		if arg = fill(arg); arg != "" {
			args = append(args, arg)
		}
	}
	said, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, said, said, os.Environ()
	for _, e := range s.env {
		cmd.Env = append(cmd.Env, fill(e))
	}
	server, err := proc.StartSession(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.KillGroup() }) // with its workers
	await(t, "listening", func() bool {
		select {
		case <-server.Done:
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("%s: %v: %s", s.program, server.Err(), text)
		default:
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return port
}

// choose keeps what is in TLS(…) or in PLAIN(…).
func choose(text string, secure bool) string {
	for tag, keep := range map[string]bool{"TLS(": secure, "PLAIN(": !secure} {
		for {
			before, rest, found := strings.Cut(text, tag)
			if !found {
				break
			}
			inner, after, _ := strings.Cut(rest, ")")
			if !keep {
				inner = ""
			}
			text = before + inner + after
		}
	}
	return text
}

// counted returns how often a server's log has the path. (lighttpd also has a line for each
// connection of HTTP/2.)
func counted(t *testing.T, dir, log string) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, log))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return int64(bytes.Count(text, []byte("/page")))
}
