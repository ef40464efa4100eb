package cli

import (
	"context"
	"strings"
	"testing"
	"time"
)

// The whole command takes about two minutes, unless building takes most of them: an interval needs
// some time too.
func TestBringMeasuresForWhatIsLeftOfTwoMinutes(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 2 * time.Minute,
		20 * time.Second:       100 * time.Second,
		75 * time.Second:       time.Minute,
		4 * time.Minute:        time.Minute,
	} {
		if got := lookAfter(spent); got != want {
			t.Errorf("after %v: %v, want %v", spent, got, want)
		}
	}
}

// A proof ends when it takes too long or too much memory, and when it is told to.
func TestProofIsWatched(t *testing.T) {
	told, cancel := context.WithCancel(t.Context())
	cancel()
	for want, begin := range map[string]func(end func(string)) func(){
		"interrupted":                       func(end func(string)) func() { return watch(told, time.Hour, 1<<40, end) },
		"its proof takes more than 1ms":     func(end func(string)) func() { return watch(t.Context(), time.Millisecond, 1<<40, end) },
		"its proof takes more than 0 MB of": func(end func(string)) func() { return watch(t.Context(), time.Hour, 1, end) },
	} {
		why := make(chan string, 1)
		stop := begin(func(text string) { why <- text })
		if got := <-why; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		stop()
	}
}
