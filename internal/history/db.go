// Package history keeps what runs measured, over months and machines, and shows how each row
// changed.
//
//  1. [Open] opens a file, an SQLite database. It is made again from the records at any time.
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
// figures, no trend needs them, and the record's file has them. A server in place of the file was
// rejected: what a team shares is the records, and the file follows from them.
package history

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// ErrNone is wrapped by the error of [OpenExisting] where there is no history.
var ErrNone = errors.New("there is no history")

// DB is an open history. Its methods may be called from several goroutines, and the file may be
// open in several programs.
type DB struct{ db *sql.DB }

// Open opens the history in a file, and makes it if it is missing. The caller must Close it.
func Open(ctx context.Context, file string) (*DB, error) {
	db, err := open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("open history %s: %w", file, err)
	}
	return db, nil
}

// OpenExisting is Open, but makes no file: where there is none, the error wraps ErrNone.
func OpenExisting(ctx context.Context, file string) (*DB, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrNone, file)
	}
	return Open(ctx, file)
}

func open(ctx context.Context, file string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(dataSource(file))
	if err != nil {
		return nil, err
	}
	db := &DB{sql.OpenDB(connector)}
	if err := db.makeTables(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// dataSource is a file's name with the settings of each connection.
//
// With a write-ahead log readers and a writer do not wait for each other, and a commit is one sync.
// synchronous=FULL makes each commit sync, so that it survives a loss of power. A transaction takes
// the write lock when it begins, so that it does not fail at its first write.
func dataSource(file string) string {
	settings := url.Values{"_pragma": {"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	path := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	if filepath.VolumeName(file) != "" {
		path = "/" + path // file:/C:/…
	}
	return "file:" + path + "?" + settings.Encode()
}

// Close closes the history.
func (db *DB) Close() error { return db.db.Close() }

// schema are the tables' statements, and version the number of the schema that they make.
//
//go:embed schema.sql
var schema string

const version = 1

// makeTables makes the tables of an empty file. It refuses a newer schema.
func (db *DB) makeTables(ctx context.Context) error {
	found := 0
	read := func(q querier) error {
		return q.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM postage_schema").Scan(&found)
	}
	// Checking a schema that is up to date needs no write lock.
	if read(db.db) == nil && found == version {
		return nil
	}
	return db.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS postage_schema (version INTEGER NOT NULL PRIMARY KEY)"); err != nil {
			return err
		}
		if err := read(tx); err != nil || found == version {
			return err
		}
		if found > version {
			return fmt.Errorf("its schema has version %d, this program knows up to %d: it was written by a newer Postage", found, version)
		}
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// write runs a function in a transaction that no other writer runs beside, and commits it.
func (db *DB) write(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := db.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // err is what failed first
		return err
	}
	return tx.Commit()
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each calls take once for every row of a query.
func each(ctx context.Context, q querier, take func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
