package cli

import (
	"testing"
	"time"
)

// As many requests as would take centuries last as long as --duration.
func TestMostRequests(t *testing.T) {
	for most, want := range map[int64]time.Duration{5: 5 * time.Second, 1 << 40: 10 * time.Second} {
		pacer, err := (&loadFlags{rate: 1, most: most, duration: 10 * time.Second}).pacer()
		if err != nil {
			t.Fatal(err)
		}
		if _, lasts := pacer.Span(); lasts != want {
			t.Errorf("%d requests last %v, want %v", most, lasts, want)
		}
	}
}
