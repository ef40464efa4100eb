package pgtest

import (
	"errors"
	"testing"
)

// The version of a folder is the number in its name.
func TestMajor(t *testing.T) {
	if major("/usr/lib/postgresql/15/bin") != 15 || major("/usr/bin") != 0 {
		t.Error("version of a folder misread")
	}
}

// A machine without PostgreSQL is told as such, with what to install.
func TestFindNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if dir, err := find([]string{t.TempDir()}); !errors.Is(err, ErrNone) {
		t.Errorf("found %q, %v", dir, err)
	}
}
