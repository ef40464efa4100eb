package history

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// migrations make the tables, each going from one version of the schema to the next:
// 0001_….sql makes version 1. There is no way back.
//
//go:embed migrations/*.sql
var migrations embed.FS

// sqliteOnly is what a migration says to SQLite and not to PostgreSQL.
var sqliteOnly = regexp.MustCompile(`/\*sqlite (.*?)\*/`)

// migrate brings the schema to the version that this program knows. It refuses a newer one.
func (db *DB) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	// Checking a schema that is up to date needs no write lock.
	if version, err := db.version(ctx, db.db); err == nil && version == len(files) {
		return nil
	}
	return db.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS postage_schema (version INTEGER NOT NULL PRIMARY KEY)"); err != nil {
			return err
		}
		version, err := db.version(ctx, tx)
		if err != nil {
			return err
		}
		if version > len(files) {
			return fmt.Errorf("its schema has version %d, this program knows up to %d: it was written by a newer Postage", version, len(files))
		}
		for i, file := range files[version:] {
			number := version + i + 1
			if err := migrateOne(ctx, tx, db.kind, file, number); err != nil {
				return fmt.Errorf("make version %d of its schema: %w", number, err)
			}
		}
		return nil
	})
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (db *DB) version(ctx context.Context, q querier) (version int, err error) {
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM postage_schema").Scan(&version)
	return version, err
}

func migrateOne(ctx context.Context, tx *sql.Tx, kind dialect, file string, number int) error {
	if !strings.HasPrefix(file, fmt.Sprintf("migrations/%04d_", number)) {
		return fmt.Errorf("%s is not numbered %d", file, number)
	}
	text, err := migrations.ReadFile(file)
	if err != nil {
		return err
	}
	statements := string(text)
	if kind == sqLite {
		statements = sqliteOnly.ReplaceAllString(statements, "$1")
	}
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO postage_schema (version) VALUES ("+strconv.Itoa(number)+")")
	return err
}
