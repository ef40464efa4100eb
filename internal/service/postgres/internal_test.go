package postgres

import (
	"os"
	"testing"
)

// The tests have servers of their own.
func TestMain(m *testing.M) {
	for _, name := range []string{"POSTAGE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// A server that is named goes before one of the environment, and that before the PG* variables.
func TestOrder(t *testing.T) {
	expect := func(given, wantDSN, wantFrom string) {
		t.Helper()
		dsn, from, ok := userDSN(given)
		if dsn != wantDSN || from != wantFrom || ok != (wantFrom != "") {
			t.Errorf("server %q of %q, want %q of %q", dsn, from, wantDSN, wantFrom)
		}
	}
	expect("", "", "")
	t.Setenv("PGHOST", "elsewhere")
	expect("", "", "the PG* variables")
	t.Setenv("POSTAGE_DSN", "host=here")
	expect("", "host=here", "POSTAGE_DSN")
	expect("host=there", "host=there", "the given DSN")
}

func TestWithSearchPath(t *testing.T) {
	for dsn, want := range map[string]string{
		"":                             "search_path='s'",
		"host=h user=u":                "host=h user=u search_path='s'",
		"postgres://u@h/db?sslmode=no": "postgres://u@h/db?search_path=s&sslmode=no",
	} {
		if got, err := withSearchPath(dsn, "s"); err != nil || got != want {
			t.Errorf("withSearchPath(%q) = %q, %v; want %q", dsn, got, err, want)
		}
	}
}
