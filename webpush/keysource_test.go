package webpush

import (
	"testing"
	"time"
)

// Of two messages that are sealed at the same time, the one that read the clock first may ask
// for the key last. It gets the same key: only a clock that was set back makes another.
func TestKeyIsAskedForOutOfOrder(t *testing.T) {
	now := time.Now()
	var o sharedKey
	first, err := o.get(now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for back, same := range map[time.Duration]bool{time.Microsecond: true, 100 * time.Millisecond: true} {
		if key, err := o.get(now.Add(-back), time.Hour); err != nil || (key == first) != same {
			t.Errorf("%v before: %v, the same key: %v, want %v", back, err, key == first, same)
		}
	}
	if key, err := o.get(now.Add(-time.Minute), time.Hour); err != nil || key == first {
		t.Errorf("a clock set back by a minute: %v, the same key: %v", err, key == first)
	}
}
