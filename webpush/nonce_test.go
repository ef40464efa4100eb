package webpush

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"
)

// TestNoKeyAndNonceRepeats seals a million messages to one subscription and
// checks that no two of them share a content encryption key and nonce. The
// modes that compute an ECDH for each message get fewer of them, since that
// takes a minute a million; POSTAGE_LONG=hours gives every mode its million.
func TestNoKeyAndNonceRepeats(t *testing.T) {
	sub := newWorkload(t).subs[0]
	million, some := 100_000, 10_000
	switch {
	case os.Getenv("POSTAGE_LONG") == "hours":
		million, some = 1_000_000, 1_000_000
	case os.Getenv("POSTAGE_LONG") != "":
		million, some = 1_000_000, 100_000
	case raceEnabled:
		million, some = 20_000, 500
	}
	for _, c := range []struct {
		reuse Reuse
		n     int
	}{
		{SessionKeys(time.Hour, 10), million},
		{SharedKey(time.Hour), some},
		{Reuse{}, some},
	} {
		t.Run(c.reuse.String(), func(t *testing.T) {
			t.Parallel()
			type keyAndNonce [28]byte
			seen := make([]keyAndNonce, 0, c.n)
			s, err := newSealer(c.reuse, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			s.onSeal = func(key, nonce []byte) {
				seen = append(seen, keyAndNonce(append(append(make([]byte, 0, 28), key...), nonce...)))
			}
			buffer := make([]byte, 0, OverheadBytes)
			for range c.n {
				if _, err := s.AppendEncrypt(buffer, nil, sub, Padding{}); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(seen, func(a, b keyAndNonce) int { return bytes.Compare(a[:], b[:]) })
			for i := 1; i < len(seen); i++ {
				if seen[i] == seen[i-1] {
					t.Fatalf("a key and nonce came twice in %d messages", c.n)
				}
			}
			if len(seen) != c.n {
				t.Errorf("saw %d seals, want %d", len(seen), c.n)
			}
		})
	}
}
