// Package sqlc is what sqlc generates for the stage's table, and for the one with typed columns.
//
// colD of the first is a string, by sqlc.yaml, as the rows have it: sqlc's own choice for jsonb is
// bytes. The columns are not null, for which sqlc has Go's types and not pgx's.
package sqlc

// Without cgo its parser of PostgreSQL is WebAssembly, and no C compiler has to make it.
//
//go:generate env CGO_ENABLED=0 go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
