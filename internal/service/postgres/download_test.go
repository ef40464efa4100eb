package postgres

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	embedded "github.com/fergusstrange/embedded-postgres"

	"postage/pgbulk/pgtest"
)

// hidden are options for a machine that has no PostgreSQL.
func hidden(t *testing.T) Options {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	return Options{find: func() (string, error) { return "", pgtest.ErrNone }}
}

// Without PostgreSQL, and without a repository to download it from, the error says how to install
// it.
func TestNowhere(t *testing.T) {
	o := hidden(t)
	var said bytes.Buffer
	o.Log, o.NoDownload = &said, true
	_, err := Start(t.Context(), o)
	if !errors.Is(err, pgtest.ErrNone) || !strings.Contains(err.Error(), "hint: install") || said.Len() > 0 {
		t.Errorf("without a download: %v; said %q", err, said.String())
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	o.NoDownload, o.Repository, o.CacheDir = false, empty.URL, t.TempDir()
	_, err = Start(t.Context(), o)
	if !errors.Is(err, pgtest.ErrNone) || !strings.Contains(err.Error(), "hint: install") || !strings.Contains(err.Error(), empty.URL) {
		t.Errorf("from an empty repository: %v", err)
	}
	if !strings.Contains(said.String(), "downloading PostgreSQL") || !strings.Contains(said.String(), empty.URL) || !strings.Contains(said.String(), o.CacheDir) {
		t.Errorf("announced %q", said.String())
	}
}

// What was downloaded is announced and kept, and not downloaded again.
func TestDownloadIsKept(t *testing.T) {
	jar := jarOf(t, compress(t, tarOf(t)))
	o := hidden(t)
	repository, requests := serve(t, &jar)
	var said bytes.Buffer
	o.Log, o.Repository, o.CacheDir = &said, repository, t.TempDir()
	for range 2 {
		bin, err := download(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !pgtest.HasPrograms(bin) || !strings.HasPrefix(bin, o.CacheDir) {
			t.Errorf("programs in %s", bin)
		}
	}
	if n := strings.Count(said.String(), "downloading"); n != 1 || *requests != 2 {
		t.Errorf("announced %d times, %d requests: %q", n, *requests, said.String())
	}
	if left, _ := filepath.Glob(filepath.Join(o.CacheDir, "*")); len(left) != 1 {
		t.Errorf("left in the cache: %q", left)
	}
}

// An archive that was cut off behind the programs is an error, each time, and not in the way of a
// whole one.
func TestDownloadCutOff(t *testing.T) {
	whole := tarOf(t)
	jar, wholeJar := jarOf(t, compress(t, whole[:len(whole)-1024-512+5])), jarOf(t, compress(t, whole)) // within the last file
	o := hidden(t)
	repository, _ := serve(t, &jar)
	o.Log, o.Repository, o.CacheDir = io.Discard, repository, t.TempDir()
	for range 2 {
		if bin, err := download(t.Context(), o); err == nil || !strings.Contains(err.Error(), "unable to extract") {
			t.Errorf("programs in %q, error %v", bin, err)
		}
	}
	jar = wholeJar
	if bin, err := download(t.Context(), o); err != nil || !pgtest.HasPrograms(bin) {
		t.Errorf("programs in %q, error %v", bin, err)
	}
}

// Another process may have been faster.
func TestDownloadedTwice(t *testing.T) {
	jar := jarOf(t, compress(t, tarOf(t)))
	o := hidden(t)
	archives, _ := serve(t, &jar)
	o.CacheDir = t.TempDir()
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bin := filepath.Join(o.CacheDir, string(embedded.V18), "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
			if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
				t.Error(err)
			}
		}
		http.Redirect(w, r, archives+r.URL.Path, http.StatusFound)
	}))
	defer repository.Close()
	o.Log, o.Repository = io.Discard, repository.URL
	if bin, err := download(t.Context(), o); err != nil || !pgtest.HasPrograms(bin) {
		t.Errorf("programs in %q, error %v", bin, err)
	}
}

// serve is a repository that has the jar of the moment.
func serve(t *testing.T, jar *[]byte) (url string, requests *int) {
	requests = new(int)
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			sum := sha256.Sum256(*jar)
			w.Write([]byte(hex.EncodeToString(sum[:])))
			return
		}
		w.Write(*jar)
	}))
	t.Cleanup(repository.Close)
	return repository.URL, requests
}

// tarOf packs programs that do nothing, and something they need.
func tarOf(t *testing.T) []byte {
	t.Helper()
	const program = "#!/bin/sh\nexit 1\n"
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"bin/initdb", "bin/postgres", "bin/pg_ctl", "lib/libpq"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(program)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func compress(t *testing.T, archive []byte) []byte {
	t.Helper()
	cmd := exec.Command("xz", "-c")
	cmd.Stdin = bytes.NewReader(archive)
	txz, err := cmd.Output()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("xz is needed to make an archive: %v", err)
		}
		t.Skipf("xz is needed to make an archive: %v", err)
	}
	return txz
}

// jarOf packs an archive as the repository has PostgreSQL's.
func jarOf(t *testing.T, txz []byte) []byte {
	t.Helper()
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	f, err := w.Create("postgres-linux-x86_64.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(txz); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return jar.Bytes()
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
