package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"postage/internal/recordtest"
	"postage/record"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(beAdder); place != "" {
		os.Exit(addUntilKilled(place))
	}
	os.Exit(m.Run())
}

// newPlace is a file that does not exist yet, with a name that a URL must escape.
func newPlace(t testing.TB) string { return filepath.Join(t.TempDir(), "a b?c%41#d", "history.db") }

func opened(t testing.TB, place string) *DB {
	t.Helper()
	db, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// recordOf is a record of that many blocks, whose run was started so many hours after the first.
func recordOf(rng *rand.Rand, blocks, hour int, slower map[string]float64) *record.Record {
	run := recordtest.Run{Rand: rng, Cases: 1, Blocks: blocks, Slower: slower, Modules: map[string]string{"codec=base": "example.org/base v1.0.0", "codec=control": "example.org/base v1.0.0"}}
	rec := run.Record()
	rec.Run.Started = time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
	rec.Run.Commit = fmt.Sprintf("%040x", hour)
	return rec
}

func added(t testing.TB, db *DB, rec *record.Record, name string) Addition {
	t.Helper()
	a, err := db.Add(t.Context(), rec, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func says(err error, parts ...string) error {
	if err == nil {
		return errors.New("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			return fmt.Errorf("%q does not say %q", err, part)
		}
	}
	return nil
}
