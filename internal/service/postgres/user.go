package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// mark is the comment on a schema that postage made.
const mark = "made by postage for measurements; dropped afterwards"

// userServer is a server that the user named, with one schema of ours in it.
type userServer struct {
	conn   *pgx.Conn // holds an advisory lock while the schema is in use
	schema string
	dsn    string
}

// Named returns the connection string of the user's own server, if one is named: by dsn, or else by
// POSTAGE_DSN or the PG* variables, which pgx reads for an empty string.
func Named(dsn string) (_ string, ok bool) {
	dsn, _, ok = userDSN(dsn)
	return dsn, ok
}

// userDSN returns the user's connection string and where it comes from.
func userDSN(given string) (dsn, from string, ok bool) {
	if given != "" {
		return given, "the given DSN", true
	}
	if dsn := os.Getenv("POSTAGE_DSN"); dsn != "" {
		return dsn, "POSTAGE_DSN", true
	}
	for _, name := range []string{"PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		if os.Getenv(name) != "" {
			return "", "the PG* variables", true
		}
	}
	return "", "", false
}

// openUserServer connects and makes the schema. A schema of ours that an earlier, killed run left
// is replaced.
func openUserServer(ctx context.Context, dsn, schema string) (*userServer, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	u := &userServer{conn: conn, schema: schema}
	if err := u.claim(ctx); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	if u.dsn, err = withSearchPath(dsn, schema); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

func (u *userServer) claim(ctx context.Context) error {
	var locked bool
	err := u.conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtext('postage'), hashtext($1))`, u.schema).Scan(&locked)
	if err != nil {
		return err
	}
	if !locked {
		return fmt.Errorf("schema %q is in use by another run", u.schema)
	}
	var comment *string
	err = u.conn.QueryRow(ctx, `select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = $1`, u.schema).Scan(&comment)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return err
	case comment == nil || *comment != mark:
		return fmt.Errorf("schema %q exists and was not made by postage: rename it, or name another", u.schema)
	}
	name := pgx.Identifier{u.schema}.Sanitize()
	_, err = u.conn.Exec(ctx, "begin; drop schema if exists "+name+" cascade; create schema "+name+
		"; comment on schema "+name+" is '"+mark+"'; commit", pgx.QueryExecModeSimpleProtocol)
	return err
}

func (u *userServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := u.conn.Exec(ctx, "drop schema if exists "+pgx.Identifier{u.schema}.Sanitize()+" cascade")
	if err != nil {
		err = fmt.Errorf("drop schema %q: %w", u.schema, err)
	}
	// The server may notice later that the connection is closed.
	_, unlocked := u.conn.Exec(ctx, `select pg_advisory_unlock(hashtext('postage'), hashtext($1))`, u.schema)
	return errors.Join(err, unlocked, u.conn.Close(ctx))
}

// withSearchPath adds search_path, a run-time parameter that both pgx and lib/pq pass on, to a
// connection string.
func withSearchPath(dsn, schema string) (string, error) {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		u, err := url.Parse(dsn)
		if err != nil {
			return "", errors.New("the connection URL does not parse")
		}
		q := u.Query()
		q.Set("search_path", schema)
		u.RawQuery = q.Encode()
		return u.String(), nil
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(schema)
	return strings.TrimSpace(dsn + " search_path='" + escaped + "'"), nil
}
