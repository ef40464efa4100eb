package postgres

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The tests have servers of their own.
func TestMain(m *testing.M) {
	for _, name := range []string{"POSTAGE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func TestDownloadOutOfReach(t *testing.T) {
	var said bytes.Buffer
	_, err := download(t.Context(), Options{Repository: "http://127.0.0.1:1/maven2", CacheDir: t.TempDir(), Log: &said})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error %v does not name the repository", err)
	}
	if !strings.Contains(said.String(), "downloading PostgreSQL") {
		t.Errorf("announced %q", said.String())
	}
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
