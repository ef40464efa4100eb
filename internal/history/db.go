// Package history keeps what runs measured, over months and machines, and shows how each row
// changed.
//
//  1. [Open] opens a database: a file (SQLite) or a server that a team shares (PostgreSQL).
//     Both have the same tables, made by the same numbered files.
//  2. [DB.Add] stores the figures of a record: those of [verdict.Analyze], and each row's time
//     as a multiple of the case's anchor. Once it has returned, they survive a crash of
//     the program or the machine.
//  3. [DB.Trend] reads a row's figures over all runs, and package trend finds the changes.
//
// The anchor of a case on a machine is its baseline in the first record: the contender and its
// module version. Later records are compared with the same contender, even if their baseline is
// another; in another version it is a new anchor.
//
// Note: the batches of a record are not stored. They take about a hundred times the space of the
// figures, no trend needs them, and the record's file has them.
package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// ErrNone is wrapped by the error of [OpenExisting] where there is no history.
var ErrNone = errors.New("there is no history")

// DB is an open history. Its methods may be called from several goroutines, and the database
// may be open in several programs.
type DB struct {
	db   *sql.DB
	kind dialect
}

// isServer says whether a place names a PostgreSQL server, not a file.
func isServer(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// redacted is a place without its password, fit to be printed.
func redacted(place string) string {
	if !isServer(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "postgres://…" // url's own error repeats all of it
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// Open opens the history at a place, a file's name or a postgres:// URL, and makes its tables
// if it has none yet. The caller must Close it.
func Open(ctx context.Context, place string) (*DB, error) {
	if !isServer(place) {
		if err := os.MkdirAll(filepath.Dir(place), 0o777); err != nil {
			return nil, fmt.Errorf("open history %s: %w", place, err)
		}
	}
	return open(ctx, place)
}

// OpenExisting is Open, but makes no file: where there is none, the error wraps ErrNone.
func OpenExisting(ctx context.Context, place string) (*DB, error) {
	if !isServer(place) {
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w at %s", ErrNone, place)
		}
	}
	return open(ctx, place)
}

func open(ctx context.Context, place string) (*DB, error) {
	db, err := connect(place)
	if err != nil {
		return nil, fmt.Errorf("open history %s: %w", redacted(place), err)
	}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open history %s: %w", redacted(place), err), db.Close())
	}
	return db, nil
}

func connect(place string) (*DB, error) {
	if isServer(place) {
		config, err := pgx.ParseConfig(place)
		if err != nil {
			return nil, errors.New("want a URL such as postgres://user@host:5432/database") // pgx's own error repeats the place
		}
		return &DB{stdlib.OpenDB(*config), postgreSQL}, nil
	}
	connector, err := sqlite.NewConnector(sqliteName(place))
	if err != nil {
		return nil, err
	}
	return &DB{sql.OpenDB(connector), sqLite}, nil
}

// sqliteName is a file's name with the settings of each connection.
//
// With a write-ahead log readers and a writer do not wait for each other, and a commit is one sync.
// synchronous=FULL makes each commit sync, so that it survives a loss of power. A transaction takes
// the write lock when it begins, so that it does not fail at its first write.
func sqliteName(place string) string {
	settings := url.Values{"_pragma": {"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	path := (&url.URL{Path: filepath.ToSlash(place)}).EscapedPath()
	if filepath.VolumeName(place) != "" {
		path = "/" + path // file:/C:/…
	}
	return "file:" + path + "?" + settings.Encode()
}

// Close closes the history.
func (db *DB) Close() error { return db.db.Close() }

// dialect is how SQLite and PostgreSQL differ.
type dialect int

const (
	sqLite dialect = iota
	postgreSQL
)

// sql is a statement with its parameters as the database wants them. They are written $1, $2 …
// in this order, each once, since SQLite gets a plain ? for each: it looks up numbered ones by
// going through all of them.
func (d dialect) sql(statement string) string {
	if d == sqLite {
		return parameter.ReplaceAllString(statement, "?")
	}
	return statement
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

// advisoryLock is what writers of a history in PostgreSQL lock: "postage", as a number.
const advisoryLock = 0x706f7374616765

// write runs a function in a transaction that no other writer runs beside, and commits it.
func (db *DB) write(ctx context.Context, do func(tx *sql.Tx) error) (err error) {
	tx, err := db.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // err is what failed first
		}
	}()
	if db.kind == postgreSQL {
		// An acknowledged record must be on disk, whatever the server's default.
		if _, err := tx.ExecContext(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(advisoryLock)); err != nil {
			return err
		}
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
