package postgres

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hidden are options for a machine that has no PostgreSQL.
func hidden(t *testing.T) Options {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	return Options{IgnoreEnvironment: true, folders: []string{}}
}

// Without PostgreSQL, and without a repository to download it from, the error says how to install it.
func TestNowhere(t *testing.T) {
	o := hidden(t)
	var said bytes.Buffer
	o.Log, o.NoDownload = &said, true
	_, err := Start(t.Context(), o)
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "hint: install") || said.Len() > 0 {
		t.Errorf("without a download: %v; said %q", err, said.String())
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	o.NoDownload, o.Repository, o.CacheDir = false, empty.URL, t.TempDir()
	_, err = Start(t.Context(), o)
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "hint: install") || !strings.Contains(err.Error(), empty.URL) {
		t.Errorf("from an empty repository: %v", err)
	}
	if !strings.Contains(said.String(), "downloading PostgreSQL") || !strings.Contains(said.String(), empty.URL) || !strings.Contains(said.String(), o.CacheDir) {
		t.Errorf("announced %q", said.String())
	}
}

// What was downloaded is announced and kept, and not downloaded again.
func TestDownloadIsKept(t *testing.T) {
	jar := jarOf(t, "initdb", "postgres", "pg_ctl")
	o := hidden(t)
	requests := 0
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			sum := sha256.Sum256(jar)
			w.Write([]byte(hex.EncodeToString(sum[:])))
			return
		}
		w.Write(jar)
	}))
	defer repository.Close()
	var said bytes.Buffer
	o.Log, o.Repository, o.CacheDir = &said, repository.URL, t.TempDir()
	for range 2 {
		bin, err := download(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !hasServer(bin) || !strings.HasPrefix(bin, o.CacheDir) {
			t.Errorf("programs in %s", bin)
		}
	}
	if n := strings.Count(said.String(), "downloading"); n != 1 || requests != 2 {
		t.Errorf("announced %d times, %d requests: %q", n, requests, said.String())
	}
}

// jarOf packs programs that do nothing as the repository has PostgreSQL's.
func jarOf(t *testing.T, programs ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	txz, err := exec.CommandContext(context.Background(), "tar", "-C", dir, "-cJf", "-", "bin").Output()
	if err != nil {
		t.Skipf("tar and xz are needed to make an archive: %v", err)
	}
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
