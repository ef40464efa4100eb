package pgbulk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"postage/pgbulk"
)

type Account struct {
	ID    int64
	Email string
	Prefs map[string]any `db:"preferences"` // a jsonb column
}

func ExampleUpsert() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres:///app")
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	accounts := []Account{{1, "ada@example.com", nil}, {2, "grace@example.com", map[string]any{"theme": "dark"}}}
	table := pgbulk.Table{Name: pgx.Identifier{"accounts"}, Key: []string{"id"}, Columns: []string{"id", "email", "preferences"}}
	result, err := pgbulk.Upsert(ctx, pool, table, pgbulk.Structs(slices.Values(accounts)), pgbulk.UpsertOptions{})
	var e *pgbulk.Error
	if errors.As(err, &e) && e.Row >= 0 {
		fmt.Println("not accepted:", accounts[e.Row], e.Column)
	}
	fmt.Println(result.Affected)
}

func ExampleExec() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "postgres:///app")
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	film := make([]byte, 500<<20)
	// No copy of the 500 MB is made on the way to the server.
	_, err = pgbulk.Exec(ctx, conn, "update films set content = $2 where id = $1", 7, film)
	fmt.Println(err)
}
