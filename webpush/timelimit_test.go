package webpush

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTimeLimit has requests share a context until its time is up.
func TestTimeLimit(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	l := newTimeLimit(parent)
	first := l.start(time.Hour)
	l.stop()
	if second := l.start(time.Millisecond); second != first {
		t.Error("another context, though nothing has ended")
	}
	<-first.Done()
	if cause := context.Cause(first); cause != context.DeadlineExceeded {
		t.Errorf("ended by %v", cause)
	}
	l.stop()
	third := l.start(time.Hour)
	if third.Err() != nil {
		t.Fatal("the next request has no time")
	}
	l.shorten(time.Millisecond)
	<-third.Done()
	l.stop()
	fourth := l.start(time.Millisecond)
	l.shorten(time.Hour) // does not make it longer
	<-fourth.Done()
	l.stop()
	fifth, cause := l.start(time.Hour), errors.New("over")
	cancel(cause)
	if <-fifth.Done(); context.Cause(fifth) != cause {
		t.Errorf("the parent ended, and not the request: %v", context.Cause(fifth))
	}
	l.stop()
	l.end()
}
