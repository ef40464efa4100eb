package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// As many requests as would take centuries last as long as --duration.
func TestMostRequests(t *testing.T) {
	for most, want := range map[int64]time.Duration{5: 5 * time.Second, 1 << 40: 10 * time.Second} {
		pacer := (&loadFlags{rate: rateFlag{rate: 1}, most: most, duration: 10 * time.Second}).pacer()
		if _, lasts := pacer.Span(); lasts != want {
			t.Errorf("%d requests last %v, want %v", most, lasts, want)
		}
	}
}

// A command that takes a page to explain is not read: at most 45 flags, and a comparison's own five.
func TestLoadFlagsAreFew(t *testing.T) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(againstFlags).register(own)
	n := 0
	loadCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && own.Lookup(flag.Name) == nil {
			n++
		}
	})
	if n > 45 {
		t.Errorf("postage load has %d flags", n)
	}
}
