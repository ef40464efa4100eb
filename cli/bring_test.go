package cli

import (
	"testing"
	"time"
)

// The whole command takes about two minutes, unless building takes most of them: an interval needs
// some time too.
func TestBringMeasuresForWhatIsLeftOfTwoMinutes(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 2 * time.Minute,
		20 * time.Second:       100 * time.Second,
		75 * time.Second:       45 * time.Second,
		4 * time.Minute:        45 * time.Second,
	} {
		if got := lookAfter(spent); got != want {
			t.Errorf("after %v: %v, want %v", spent, got, want)
		}
	}
}
