package receiver_test

import (
	"testing"
	"time"

	"postage/webpush/receiver"
)

func FuzzVerifyVAPID(f *testing.F) {
	f.Add("vapid t=eyJhbGciOiJFUzI1NiJ9.e30.AAAA, k=BAAA")
	f.Add("vapid")
	f.Fuzz(func(t *testing.T, header string) {
		if _, err := receiver.VerifyVAPID(header, "https://push.example", time.Unix(0, 0)); err == nil {
			t.Error("verified what nobody signed")
		}
	})
}
