package tlscert

import (
	"crypto/x509"
	"testing"
	"time"
)

func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		pair, err := New(kind)
		if err != nil {
			t.Fatal(err)
		}
		server, err := pair.Server()
		if err != nil {
			t.Fatal(err)
		}
		if got := KindOf(server.Leaf); got != kind {
			t.Errorf("made a certificate of kind %s, it is of kind %s", kind, got)
		}
		if _, err := server.Leaf.Verify(x509.VerifyOptions{Roots: pair.Pool(), DNSName: ServerName}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestExpired(t *testing.T) {
	now := time.Now()
	pair, err := NewValid(ECDSAP256, now.Add(-2*time.Hour), now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	server, err := pair.Server()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Leaf.Verify(x509.VerifyOptions{Roots: pair.Pool(), DNSName: ServerName}); err == nil {
		t.Error("an expired certificate was verified")
	}
}

func TestUnknownKind(t *testing.T) {
	if _, err := New("dsa"); err == nil {
		t.Error("made a certificate of kind dsa")
	}
}
