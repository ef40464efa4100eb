package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/internal/service/postgres"
	"postage/pgbulk/pgtest"
	"postage/record"
	"postage/record/recordtest"
)

// server is one scratch cluster for all tests of the package, nil if there is no PostgreSQL.
var (
	server *postgres.Server
	noneOf error // why there is none
)

func TestMain(m *testing.M) {
	if place := os.Getenv(beAdder); place != "" {
		os.Exit(addUntilKilled(place))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, noneOf = postgres.Start(ctx, postgres.Options{IgnoreEnvironment: true, NoDownload: true})
	cancel()
	if noneOf != nil && (!errors.Is(noneOf, pgtest.ErrNone) || os.Getenv("CI") == "true") {
		fmt.Fprintln(os.Stderr, noneOf)
		os.Exit(1)
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// serverPlace is an empty database on the server, as a history's place. It skips the test if
// there is no PostgreSQL.
func serverPlace(t testing.TB) string {
	t.Helper()
	if server == nil {
		t.Skip(noneOf)
	}
	config, err := pgx.ParseConfig(server.DSN(pgtest.TCP))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	name := fmt.Sprintf("history%d", rand.Uint64())
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", Host: fmt.Sprintf("%s:%d", config.Host, config.Port), Path: name, User: url.UserPassword(config.User, config.Password)}
	return u.String()
}

// everywhere runs a test on both databases. SQLite's file has a name that a URL must escape.
func everywhere(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "a b?c%41#d", "history.db")) })
	t.Run("postgresql", func(t *testing.T) { test(t, serverPlace(t)) })
}

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
