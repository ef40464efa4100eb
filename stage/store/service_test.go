package store

import (
	"context"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// A run on the user's own server works in a schema of its own, which is gone afterwards. It does
// not touch a schema that is not its own.
func TestUsersServer(t *testing.T) {
	if noServer != nil {
		t.Skip(noServer)
	}
	t.Setenv("POSTAGE_DSN", "host=/nonexistent user=nobody") // --dsn takes precedence
	r, err := reachOf(false)
	if err != nil {
		t.Fatal(err)
	}
	dsn := r.DSN[pgtest.Unix]
	ctx, use := t.Context(), userDSN{text: dsn}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	schemas := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(ctx, "select count(*) from pg_namespace where nspname = 'postage'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	running, err := newService(&use, false).Start(ctx, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range running.Environment {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	if got, err := reachOf(false); err != nil || got.Scratch {
		t.Errorf("workers are told of %s, %v", must(json.Marshal(got)), err)
	}
	if schemas() != 1 {
		t.Error("there is no schema postage")
	}
	s := setting{workload: workload{rows: 20, size: "16KB", letters: 16384}, phase: phaseUpdate, column: "jsonb", compression: "pglz", transport: pgtest.Unix}
	for _, c := range contenders() {
		if c.insertsOnly {
			continue
		}
		in, err := c.row(openServer(s), serverChecks, "").Open(ctx, lab.Env{Seed: 7})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := in.Prove(ctx); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := in.Close(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := running.Stop(); err != nil {
		t.Fatal(err)
	}
	if schemas() != 0 {
		t.Error("the schema is still there")
	}
	if _, err := conn.Exec(ctx, "create schema postage"); err != nil {
		t.Fatal(err)
	}
	if _, err := newService(&use, false).Start(ctx, t.Output()); err == nil || !strings.Contains(err.Error(), "was not made by postage") {
		t.Errorf("with a schema of somebody else's: %v", err)
	}
	if schemas() != 1 {
		t.Error("somebody else's schema was dropped")
	}
	if _, err := conn.Exec(ctx, "drop schema postage"); err != nil {
		t.Fatal(err)
	}
}

// The cases of a user's server are named by what that is, whatever the options' defaults are, and
// it serves all of them.
func TestNamedByTheServer(t *testing.T) {
	if noServer != nil {
		t.Skip(noServer)
	}
	server, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	suite := Suite()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	suite.Flags(flags)
	if err := flags.Set("dsn", server.DSN(pgtest.TCP)); err != nil {
		t.Fatal(err)
	}
	is, err := suite.Server(t.Context())
	if err != nil || is["transport"] != "tcp" || is["fsync"] != "on" {
		t.Fatalf("the server is %v, %v", is, err)
	}
	suite.Cases = suite.Made(lab.Choices{"transport": {is["transport"]}, "fsync": {is["fsync"]}, "compression": {"unnamed"}})
	entries, err := lab.Select([]lab.Suite{suite}, []string{"Store/peer=postgres/transport=tcp/fsync=on"})
	if err != nil {
		t.Fatal(err)
	}
	rec := lab.NewRecord(lab.Plan{Entries: entries}, record.Run{}, record.Machine{})
	_, stop := lab.StartServices(t.Context(), entries, rec, t.Output())
	for _, row := range rec.Rows {
		if !row.OK() && !strings.Contains(string(row.Proof), "has no lz4") {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
