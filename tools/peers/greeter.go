//go:build linux

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"time"
)

// A greeter is postage's own server, in a process of its own: `postage serve greeter`.
type greeter struct {
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
}

// greeterConfig is the first line that the server reads.
type greeterConfig struct {
	Server     string `json:"server"`
	Body       string `json:"body"`
	Stall      int64  `json:"stall_ms,omitempty"`
	StallEvery int64  `json:"stall_every_ms,omitempty"`
}

func (s *greeter) url() string { return "http://" + s.addr + "/" }

type certificate struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

func startGreeter(program string, config greeterConfig) (*greeter, error) {
	s := &greeter{cmd: exec.Command(program, "serve", "greeter")}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.cmd.Stderr = stdin, os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	line, err := json.Marshal(config)
	if err == nil {
		_, err = stdin.Write(append(line, '\n'))
	}
	var ready struct{ Error, Addr string }
	if err == nil {
		line, err = bufio.NewReader(stdout).ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err == nil && ready.Error != "" {
		err = errors.New(ready.Error)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), s.close())
	}
	s.addr = ready.Addr
	return s, nil
}

// close ends the server, which ends with its standard input.
func (s *greeter) close() error {
	err := s.stdin.Close()
	return errors.Join(err, s.cmd.Wait())
}

// newCertificate returns a certificate for 127.0.0.1, of the kind that most servers have today.
func newCertificate() (*certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &certificate{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}
