package store

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/internal/service/postgres"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// newService returns the run's PostgreSQL: a scratch cluster with or without fsync, or the user's
// own server (see userDSN and package postgres). If PostgreSQL is not installed, it is downloaded
// once, which is announced, from POSTAGE_PG_REPOSITORY if that is set; POSTAGE_PG_DOWNLOAD=no
// forbids that.
func newService(use *userDSN, fsync bool) *lab.Service {
	return &lab.Service{Start: func(ctx context.Context, log io.Writer) (*lab.Running, error) {
		o := serverOptions(log)
		o.DSN, o.Scratch.Fsync = use.text, fsync
		// Two of these may run at a time, each in a schema of its own.
		o.Schema = map[bool]string{false: "postage", true: "postage_fsync"}[fsync]
		s, err := postgres.Start(ctx, o)
		if err != nil {
			return nil, err
		}
		running, err := started(ctx, s, fsync)
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return running, nil
	}}
}

func serverOptions(log io.Writer) postgres.Options {
	return postgres.Options{
		Log:        log,
		NoDownload: os.Getenv("POSTAGE_PG_DOWNLOAD") == "no",
		Repository: os.Getenv("POSTAGE_PG_REPOSITORY"),
		// No checkpoint and no autovacuum during a batch.
		Scratch: pgtest.Options{Settings: map[string]string{
			"shared_buffers": "256MB", "max_wal_size": "4GB", "checkpoint_timeout": "1h", "autovacuum": "off",
		}},
	}
}

// userDSN is the flag that names the user's own server, as a libpq URL or keyword string. It takes
// precedence over POSTAGE_DSN, the PG* variables and this machine's PostgreSQL.
type userDSN struct {
	text string
	used bool // by rows of this stage or of route
}

func (d *userDSN) Set(dsn string) error {
	d.text = dsn
	return nil
}

// String leaves out what may contain a password.
func (d *userDSN) String() string {
	if d.text == "" {
		return ""
	}
	return "..."
}

func (d *userDSN) flags(f *flag.FlagSet) {
	*d = userDSN{}
	f.Var(d, "dsn", "PostgreSQL `server` for the stages store and route: in a schema that is dropped afterwards\n(default POSTAGE_DSN, PG*, or a scratch cluster)")
}

// choose returns an error if a server is named on which nothing would be measured. The stage
// route has its rows chosen first.
func (d *userDSN) choose(c *lab.Choice) error {
	d.used = d.used || slices.ContainsFunc(c.Entries, func(e lab.Entry) bool { return e.Case.Service != nil })
	if d.text == "" || d.used {
		return nil
	}
	return &lab.Hinted{Err: errors.New("--dsn: none of the cases is measured on a PostgreSQL server"), Hint: "postage run Store/peer=postgres --dsn ..."}
}

// server says how the user's server is reached and whether it waits for the disk, if one is named
// by --dsn or the environment. If it does not answer, its rows will say so.
func (d *userDSN) server(ctx context.Context) (lab.Settings, error) {
	dsn, named := postgres.Named(d.text)
	if !named {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	is, err := ask(ctx, dsn)
	if err != nil {
		return nil, nil
	}
	return lab.Settings{"transport": is.transport, "fsync": is.fsync}, nil
}

func started(ctx context.Context, s *postgres.Server, fsync bool) (*lab.Running, error) {
	r := reach{DSN: map[pgtest.Transport]string{pgtest.Unix: s.DSN(pgtest.Unix), pgtest.TCP: s.DSN(pgtest.TCP)}, Scratch: s.Scratch()}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	can, err := ask(ctx, r.DSN[pgtest.Unix])
	if err != nil {
		return nil, err
	}
	return &lab.Running{
		Environment: []string{variable(fsync) + "=" + string(text)},
		Serves: func(c *lab.Case, way *lab.Contender) error {
			return can.serve(c.Name+"/"+way.Name, s.Scratch())
		},
		Stop: s.Stop,
	}, nil
}

// abilities are what a server supports, by its own answer.
type abilities struct {
	version     string
	compression bool // compression of a column, which every table is created with
	lz4         bool
	fsync       string // on or off
	transport   string // how it is reached
}

func ask(ctx context.Context, dsn string) (a abilities, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return a, err
	}
	a.version = conn.PgConn().ParameterStatus("server_version")
	a.transport = conn.PgConn().Conn().RemoteAddr().Network()
	err = conn.QueryRow(ctx, `select current_setting('fsync'), count(*) > 0, coalesce(bool_or('lz4' = any(enumvals)), false)
		from pg_settings where name = 'default_toast_compression'`).
		Scan(&a.fsync, &a.compression, &a.lz4)
	return a, errors.Join(err, conn.Close(ctx))
}

// serve returns why the server cannot serve a row. A user's server is used as it is: a row that was
// named by another server is not of this one.
func (a *abilities) serve(row string, scratch bool) error {
	keys := record.KeysOf(row)
	fsync, transport := keys.Get("fsync"), keys.Get("transport")
	switch {
	case !a.compression:
		return fmt.Errorf("PostgreSQL %s has no column compression: this needs PostgreSQL 14", a.version)
	case (keys.Get("compression") == "lz4" || keys.Get("toast") == "lz4") && !a.lz4:
		return fmt.Errorf("PostgreSQL %s has no lz4: it was built without", a.version)
	case scratch:
		return nil
	case fsync != "" && fsync != a.fsync:
		return fmt.Errorf("the server in use has fsync %s", a.fsync)
	case transport != "" && transport != a.transport:
		return fmt.Errorf("the server in use is reached by transport=%s", a.transport)
	}
	return nil
}
