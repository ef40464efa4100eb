package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"postage/load"
)

// Each row of the table of features names a test that exists.
func TestLoadFeatures(t *testing.T) {
	docs, err := os.ReadFile("../docs/evidence/load.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(docs), "## Features, compared with other tools")
	table, _, _ = strings.Cut(table, "\n## ")
	var tests strings.Builder
	for _, folder := range []string{".", "../load", "../load/fleet", "../internal/kubetest", "../internal/loadpage"} {
		files, err := filepath.Glob(folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| ") || len(cells) < 3 {
			continue
		}
		if len(cells) != 11 {
			t.Errorf("%d columns: %s", len(cells)-2, line)
		}
		name := regexp.MustCompile("^ `(Test[A-Za-z0-9]+)` $").FindStringSubmatch(cells[2])
		switch {
		case strings.Contains(line, "postage load, and the test") || strings.Contains(line, "| scripts, in a language |"):
			continue
		case name == nil:
			t.Errorf("the row names no test: %s", line)
		case !strings.Contains(tests.String(), "\nfunc "+name[1]+"("):
			t.Errorf("there is no %s: %s", name[1], line)
		}
		rows++
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
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
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range []string{"http1", "http2"} {
		pool, err := load.Open(t.Context(), &load.Target{Proto: proto, Conns: 2, Streams: 1, TLS: config, Request: load.Request{URL: u}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := load.Run(t.Context(), load.Plan{Pacer: load.Constant{Rate: 50, For: 100 * time.Millisecond}, Lines: pool.Lines})
		if err != nil || r.Done != 5 || r.Failed() > 0 {
			t.Errorf("%s: %v, %v", proto, err, r.Errors)
		}
		_ = pool.Close()
	}
}
