package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	"postage/load"
)

// commanded runs postage load and returns what it prints.
func commanded(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout bytes.Buffer
	cmd := loadCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&stdout)
	cmd.SetErr(t.Output())
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// sentOver sends n requests to a server with TLS. All must succeed.
func sentOver(t *testing.T, server *httptest.Server, config *tls.Config, proto string, n int64) {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := load.Open(t.Context(), &load.Target{Proto: proto, Conns: 1, Streams: 1, TLS: config, Request: load.Request{URL: u}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r, err := load.Run(t.Context(), load.Plan{Pacer: load.Constant{Rate: 50, For: time.Duration(n) * 20 * time.Millisecond}, Lines: pool.Lines})
	if err != nil || r.Done != n || r.Failed() > 0 {
		t.Errorf("%s: %v, %d answers, %v", proto, err, r.Done, r.Errors)
	}
}

// certificateFlags have a new certificate of a client, with the serial number 17.
func certificateFlags(t *testing.T) loadFlags {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(17), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := loadFlags{cert: filepath.Join(t.TempDir(), "cert.pem"), key: filepath.Join(t.TempDir(), "key.pem")}
	for path, block := range map[string]*pem.Block{f.cert: {Type: "CERTIFICATE", Bytes: der}, f.key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// A server that asks for a certificate gets the one from --cert and --key.
func TestClientCertificate(t *testing.T) {
	f := certificateFlags(t)
	f.insecure = true
	config, err := f.trust()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].SerialNumber.Int64() != 17 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, proto := range []string{"http1", "http2"} {
		sentOver(t, server, config, proto, 5)
	}
}

// With --tls-tickets each connection after the first resumes the session of TLS.
func TestTickets(t *testing.T) {
	var resumed atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		w.Header().Set("Connection", "close")
	}))
	defer server.Close()
	for _, want := range []int64{0, 9} {
		resumed.Store(0)
		f := loadFlags{insecure: true, tickets: want > 0}
		config, err := f.trust()
		if err != nil {
			t.Fatal(err)
		}
		if sentOver(t, server, config, "http1", 10); resumed.Load() != want {
			t.Errorf("%d of 10 connections resumed, want %d", resumed.Load(), want)
		}
	}
}

// What -H gives for a field of octets is base64. A unary call and a stream send the same header, and
// a server of grpc-go reads the same octets.
func TestBinaryFieldOfGRPC(t *testing.T) {
	got := make(chan string, 2)
	decoded := func(ctx context.Context) {
		md, _ := metadata.FromIncomingContext(ctx)
		got <- fmt.Sprintf("%q", md["x-bin"])
	}
	service := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		decoded(ctx)
		return new(grpc_testing.SimpleResponse), nil
	}), grpc.StreamInterceptor(func(s any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if strings.Contains(info.FullMethod, "Reflection") {
			return handler(s, stream)
		}
		decoded(stream.Context())
		return nil
	}))
	grpc_testing.RegisterTestServiceServer(service, grpc_testing.UnimplementedTestServiceServer{})
	reflection.Register(service)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "Reflection") {
			got <- fmt.Sprintf("%q", r.Header["X-Bin"])
		}
		service.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	for _, method := range []string{"UnaryCall", "StreamingOutputCall"} {
		for _, value := range []string{"AAEC/w==", "AAEC/w"} {
			_, err := commanded(t, "--proto", "grpc", "--method", "grpc.testing.TestService/"+method, "-H", "x-bin: "+value, "--rate", "max", "-n", "1", "-c", "1", server.URL)
			if err != nil {
				t.Errorf("%s %s: %v", method, value, err)
				continue
			}
			if header, octets := <-got, <-got; header != `["AAEC/w"]` || octets != `["\x00\x01\x02\xff"]` {
				t.Errorf("%s %s: the header is %s, the octets are %s", method, value, header, octets)
			}
		}
	}
}
