package postgres

import (
	"testing"
)

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

// A server that is named goes before one of the environment, and that before the PG* variables.
func TestOrder(t *testing.T) {
	for _, name := range []string{"POSTAGE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		t.Setenv(name, "")
	}
	expect := func(o Options, wantDSN, wantFrom string) {
		t.Helper()
		dsn, from, ok := userDSN(o)
		if dsn != wantDSN || from != wantFrom || ok != (wantFrom != "") {
			t.Errorf("server %q of %q, want %q of %q", dsn, from, wantDSN, wantFrom)
		}
	}
	expect(Options{}, "", "")
	t.Setenv("PGHOST", "elsewhere")
	expect(Options{}, "", "the PG* variables")
	t.Setenv("POSTAGE_DSN", "host=here")
	expect(Options{}, "host=here", "POSTAGE_DSN")
	expect(Options{DSN: "host=there"}, "host=there", "the given DSN")
	expect(Options{IgnoreEnvironment: true}, "", "")
}
