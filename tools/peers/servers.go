//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A server answers at once and counts what it answers.
type server struct {
	name     string
	urls     map[string]string // by protocol
	ca       string            // path of its certificate
	requests func() (int64, error)
	close    func() error
}

// startServers starts the servers that were asked for.
func startServers(ctx context.Context, folder, wanted string) (servers []*server, err error) {
	if among(wanted, "responder") {
		r, addrs, err := startResponder()
		if err != nil {
			return nil, fmt.Errorf("start the responder: %w", err)
		}
		servers = append(servers, &server{name: "responder", close: r.close,
			urls:     map[string]string{"http1": "http://" + addrs[http1] + "/", "http2": "http://" + addrs[http2] + "/", "grpc": "http://" + addrs[grpc] + "/"},
			requests: func() (int64, error) { return r.answered.Load(), nil }})
	}
	if among(wanted, "nginx") {
		path, err := exec.LookPath("nginx")
		if err != nil {
			fmt.Fprintln(os.Stderr, "peers: nginx is left out because it is not installed: apt-get install nginx-light")
			return servers, nil
		}
		s, err := startNginx(ctx, path, folder)
		if err != nil {
			return nil, fmt.Errorf("start nginx: %w", err)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// nginxConfig has one worker process, since every generator has one thread.
const nginxConfig = `daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 1000000000;
  default_type application/json;
  ssl_certificate %[1]s/ca.pem;
  ssl_certificate_key %[1]s/key.pem;
  client_body_temp_path %[1]s/client; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server {
    listen 127.0.0.1:%[2]d;
    listen 127.0.0.1:%[3]d http2;
    listen 127.0.0.1:%[4]d ssl http2;
    location / { return 200 '%[6]s'; }
  }
  server {
    listen 127.0.0.1:%[5]d;
    location / { stub_status; }
  }
}
`

func startNginx(ctx context.Context, path, folder string) (*server, error) {
	cert, err := newCertificate()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	s := &server{name: "nginx", ca: filepath.Join(folder, "ca.pem"), urls: map[string]string{}}
	config := filepath.Join(folder, "nginx.conf")
	if err := errors.Join(
		os.WriteFile(s.ca, cert.Cert, 0o600),
		os.WriteFile(filepath.Join(folder, "key.pem"), cert.Key, 0o600),
		os.WriteFile(config, fmt.Appendf(nil, nginxConfig, folder, ports[0], ports[1], ports[2], ports[3], responseBody), 0o600),
	); err != nil {
		return nil, err
	}
	for i, protocol := range []string{"http1", "http2", "tls"} {
		s.urls[protocol] = fmt.Sprintf("http://127.0.0.1:%d/", ports[i])
	}
	s.urls["tls"] = strings.Replace(s.urls["tls"], "http:", "https:", 1)
	cmd := exec.CommandContext(ctx, path, "-e", filepath.Join(folder, "nginx.log"), "-p", folder, "-c", config)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // its worker ends too
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.close = func() error { return errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }
	s.requests = func() (int64, error) { return nginxRequests(ports[3]) }
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := s.requests(); err == nil {
			return s, nil
		} else if time.Since(begun) > 5*time.Second {
			return nil, errors.Join(err, s.close())
		}
	}
}

// nginxRequests reads the third number of the third line: accepted, handled, requests.
func nginxRequests(port int) (int64, error) {
	client := &http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 3 || len(strings.Fields(lines[2])) != 3 {
		return 0, fmt.Errorf("nginx's status cannot be read: %q", text)
	}
	return strconv.ParseInt(strings.Fields(lines[2])[2], 10, 64)
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all listen until the end, so that the ports differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
