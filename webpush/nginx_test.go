package webpush_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postage/webpush"
	"postage/webpush/pushtest"
)

const nginxConf = `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log; events { worker_connections 4096; }
http {
	access_log off; keepalive_requests 1000;
	client_body_temp_path DIR; proxy_temp_path DIR; fastcgi_temp_path DIR; uwsgi_temp_path DIR; scgi_temp_path DIR;
	upstream service { server SERVICE; keepalive 64; }
	server {
		listen 127.0.0.1:PORT ssl HTTP2; ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;
		location / { proxy_pass https://service; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}
}`

// TestConnectionsBehindNginx sends 20,000 messages through nginx, which closes each connection
// after 1000 requests. So 20 connections are the least with HTTP/2. With HTTP/1.1 they are one for
// each of the 64 requests under way, and another for each that had its 1000 requests.
func TestConnectionsBehindNginx(t *testing.T) {
	program, err := exec.LookPath("nginx")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("no nginx: apt-get install nginx-light")
	} else if err != nil {
		t.Fatal(err)
	}
	const messages = 20_000
	for protocol, most := range map[string]int32{"http2": 30, "": 80} {
		t.Run("protocol="+protocol, func(t *testing.T) {
			service := newService(t, pushtest.Discard(), pushtest.WithHTTP1())
			port := startNginx(t, program, protocol, service)
			_, subs := audience(t, service, 1000)
			for i, sub := range subs {
				subs[i] = parse(t, bytes.Replace(sub.JSON(), []byte(service.URL), []byte("https://127.0.0.1:"+port), 1))
			}
			transport := webpush.NewTransport(netip.Addr.IsLoopback)
			defer transport.CloseIdleConnections()
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			var dials atomic.Int32
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return dial(ctx, network, address)
			}
			client := newClient(t, nil, webpush.Config{Transport: transport, Reuse: webpush.SessionKeys(time.Hour, 2000)})
			list := func(yield func(webpush.Subscription) bool) {
				for i := 0; i < messages && yield(subs[i%len(subs)]); i++ {
				}
			}
			for _, result := range client.Broadcast(t.Context(), list, nil, webpush.Options{}) {
				if result.Err != nil {
					t.Error(result.Err)
				}
			}
			if t.Logf("%d connections", dials.Load()); service.Accepted() != messages || dials.Load() > most {
				t.Errorf("%d messages accepted over %d connections, want %d over at most %d", service.Accepted(), dials.Load(), messages, most)
			}
		})
	}
}

// startNginx runs nginx in front of a service until the test ends, and gives its port.
func startNginx(t *testing.T, program, protocol string, service *pushtest.Server) (port string) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	pair, folder := certified.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // whose port nginx gets
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ = net.SplitHostPort(address)
	conf := strings.NewReplacer("DIR", folder, "PORT", port, "HTTP2", protocol, "SERVICE", strings.TrimPrefix(service.URL, "https://")).Replace(nginxConf)
	err = errors.Join(listener.Close(),
		os.WriteFile(folder+"/cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(folder+"/key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
		os.WriteFile(folder+"/nginx.conf", []byte(conf), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	nginx := exec.Command(program, "-e", folder+"/error.log", "-p", folder, "-c", folder+"/nginx.conf")
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nginx.Process.Signal(os.Interrupt) //nolint:errcheck // it has ended
		nginx.Wait()                       //nolint:errcheck // it was told to
	})
	for range 400 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return port
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nginx does not listen")
	return ""
}
