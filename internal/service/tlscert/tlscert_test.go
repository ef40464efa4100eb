package tlscert_test

import (
	"crypto/x509"
	"testing"

	"postage/internal/service/tlscert"
)

func TestKinds(t *testing.T) {
	for _, kind := range tlscert.Kinds() {
		pair, err := tlscert.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		server, err := pair.Server()
		if err != nil {
			t.Fatal(err)
		}
		if got := tlscert.KindOf(server.Leaf); got != kind {
			t.Errorf("made a certificate of kind %s, it is of kind %s", kind, got)
		}
		if _, err := server.Leaf.Verify(x509.VerifyOptions{Roots: pair.Pool(), DNSName: tlscert.ServerName}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	if _, err := tlscert.New("dsa"); err == nil {
		t.Error("made a certificate of kind dsa")
	}
}
