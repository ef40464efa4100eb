package pgbulk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// serversFile makes a file that the server's user owns.
func serversFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(server.Dir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(server.Dir())
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiskFull fills a tablespace of 16 MB.
func TestDiskFull(t *testing.T) {
	conn := connect(t)
	if os.Geteuid() != 0 {
		inCI(t, "mounting a small file system takes root")
	}
	dir := filepath.Join(server.Dir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		inCI(t, fmt.Sprintf("cannot mount a tmpfs: %v", err))
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	info, err := os.Stat(server.Dir())
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	must(t, conn, "create tablespace small location '"+dir+"'")
	t.Cleanup(func() { must(t, openConn(t, server.DSN(pgtest.Unix)), "drop tablespace small") })
	for _, s := range strategies {
		for _, inserts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/insert=%v", name(s), inserts), func(t *testing.T) {
				table := pgbulk.Table{Name: pgx.Identifier{"cramped"}, Columns: []string{"id", "pad"}, Key: []string{"id"}}
				must(t, conn, "create table cramped (id int primary key, pad text) tablespace small")
				must(t, conn, "alter table cramped alter pad set storage plain")
				defer must(t, conn, "drop table cramped")
				write := upsert
				if inserts {
					write = insert
				}
				few := pgbulk.Values(seq(100, func(i int) []any { return []any{-i, "x"} }))
				if _, err := write(t.Context(), conn, table, few, settings{Strategy: s}); err != nil {
					t.Fatal(err)
				}
				before := digest(t, conn, table.Name)
				pad := strings.Repeat("p", 7000)
				_, err := write(t.Context(), conn, table, pgbulk.Values(seq(2400, func(i int) []any { return []any{i + 1, pad} })), settings{Strategy: s})
				var pgErr *pgconn.PgError
				if !errors.As(err, &pgErr) || pgErr.Code != "53100" {
					t.Fatalf("error %v, want disk full", err)
				}
				if after := digest(t, conn, table.Name); after != before {
					t.Error("the table has changed")
				}
				usable(t, conn)
			})
		}
	}
}

// TestTLS writes over an encrypted connection, and cancels over one.
func TestTLS(t *testing.T) {
	observer := connect(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := serversFile(t, "server.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	private := serversFile(t, "server.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	must(t, observer, "alter system set ssl_cert_file = '"+cert+"'")
	must(t, observer, "alter system set ssl_key_file = '"+private+"'")
	must(t, observer, "alter system set ssl = on")
	must(t, observer, "select pg_reload_conf()")
	t.Cleanup(func() {
		c := openConn(t, server.DSN(pgtest.Unix))
		must(t, c, "alter system reset ssl")
		must(t, c, "select pg_reload_conf()")
	})
	var conn *pgx.Conn
	for range 1000 {
		if conn, err = pgx.Connect(t.Context(), strings.Replace(dsn(t, pgtest.TCP), "sslmode=disable", "sslmode=require", 1)); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if !get[bool](t, conn, "select ssl from pg_stat_ssl where pid = pg_backend_pid()") {
		t.Fatal("the connection is not encrypted")
	}
	v := newVersioned(t, observer, 2000, 3000)
	for i, s := range strategies {
		_, err := upsert(t.Context(), conn, v.table, v.at(i+1), settings{Strategy: s})
		v.check(t, observer, conn, err, i, i+1)
	}
	if _, err := pgbulk.Exec(t.Context(), conn, "select $1::int", mrand.IntN(10)); err != nil {
		t.Error(err)
	}
	tx, err := observer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "lock table "+v.table.Name.Sanitize()+" in share mode"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextWithTimeout(t, 100*time.Millisecond)
	defer cancel()
	_, err = upsert(ctx, conn, v.table, v.at(9), settings{Strategy: pgbulk.Bind})
	tx.Rollback(t.Context())
	if err == nil {
		t.Error("no error from a cancelled call")
	}
	v.check(t, observer, conn, err, len(strategies), 9)
}
