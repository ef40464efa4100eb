package pgsink_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/pgbulk/pgtest/pgsink"
)

func TestPgx(t *testing.T) {
	socket := filepath.Join(t.TempDir(), ".s.PGSQL.5432")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	sink := &pgsink.Server{Types: map[string]uint32{"b": 3802}}
	done := make(chan error)
	go func() { done <- sink.Serve(l) }()
	conn, err := pgx.Connect(t.Context(), "host="+filepath.Dir(socket)+" user=x dbname=x sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	const insert = "insert into t (a, b) values ($1, $2), ($3, $4) on conflict (a) do nothing"
	for range 3 {
		if _, err := conn.Exec(t.Context(), insert, "x", "{}", "y", map[string]int{"z": 1}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := conn.Prepare(t.Context(), "p", insert)
	if err != nil || len(d.ParamOIDs) != 4 || d.ParamOIDs[1] != 3802 || d.ParamOIDs[2] != 25 {
		t.Errorf("described as %+v, %v", d, err)
	}
	if _, err := conn.Exec(t.Context(), "insert into t select * from unnest($1::text[], $2::jsonb[])", []string{"a"}, []string{"{}"}); err != nil {
		t.Error(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{"x", "{}"}})); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	var batch pgx.Batch
	batch.Queue("insert into t (a) values ($1)", "x")
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Error(err)
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	conn.Close(context.Background())
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
