package pgbulk_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// visits is a connection to a scratch server with a table of visits: monday 5, tuesday 7.
func visits(ctx context.Context) (*pgx.Conn, pgbulk.Table) {
	conn, err := pgx.Connect(ctx, server.DSN(pgtest.Unix))
	if err != nil {
		panic(err)
	}
	_, err = conn.Exec(ctx, `create temporary table visits (day text primary key, n int not null default 1, seen int generated always as identity);
		insert into visits values ('monday', 5), ('tuesday', 7)`)
	if err != nil {
		panic(err)
	}
	return conn, pgbulk.Table{Name: pgx.Identifier{"visits"}, Columns: []string{"day", "n"}, Key: []string{"day"}}
}

func show(ctx context.Context, conn *pgx.Conn) {
	rows, _ := conn.Query(ctx, "select day || ' ' || n from visits order by day")
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	fmt.Println(all, err)
}

// Counters are added to, where they exist.
func ExampleUpsert_setTo() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	_, err := pgbulk.Upsert(ctx, conn, table, pgbulk.Slice([][]any{{"monday", 1}, {"friday", 1}}), pgbulk.UpsertOptions{
		SetTo: map[string]pgbulk.SQL{"n": "t.n + excluded.n"},
	})
	if err != nil {
		panic(err)
	}
	show(ctx, conn)
	// Output: [friday 1 monday 6 tuesday 7] <nil>
}

// A call writes all rows or none. Halves of what was refused are written until single rows are left.
func ExampleUpsert_halves() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	var write func(rows [][]any) error
	write = func(rows [][]any) error {
		_, err := pgbulk.Upsert(ctx, conn, table, pgbulk.Slice(rows), pgbulk.UpsertOptions{})
		var refused *pgconn.PgError
		switch {
		case err == nil || !errors.As(err, &refused) || refused.Code[:2] != "22" && refused.Code[:2] != "23":
			return err
		case len(rows) == 1:
			fmt.Println(rows[0], "is refused:", refused.Code)
			return nil
		}
		return errors.Join(write(rows[:len(rows)/2]), write(rows[len(rows)/2:]))
	}
	if err := write([][]any{{"monday", 6}, {"friday", nil}, {"sunday", 3}}); err != nil {
		panic(err)
	}
	show(ctx, conn)
	// Output:
	// [friday <nil>] is refused: 23502
	// [monday 6 sunday 3 tuesday 7] <nil>
}

func ExampleUpdate() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	result, err := pgbulk.Update(ctx, conn, table, pgbulk.Slice([][]any{{"monday", 9}, {"sunday", 9}}), pgbulk.UpdateOptions{})
	fmt.Println(result.Affected, "of", result.Rows, err)
	show(ctx, conn)
	// Output:
	// 1 of 2 <nil>
	// [monday 9 tuesday 7] <nil>
}

func ExampleReturn() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	type visit struct {
		Day  string
		N    int
		Seen int // the database numbers the rows
	}
	_, err := pgbulk.Upsert(ctx, conn, table, pgbulk.Slice([][]any{{"monday", 6}, {"friday", 1}}), pgbulk.UpsertOptions{
		Returning: pgbulk.Return(func(v visit) error {
			fmt.Println(v)
			return nil
		}),
	})
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// {monday 6 1}
	// {friday 1 4}
}

// Rows that come one by one go through a channel. An error of their sender, as it is here, undoes
// the call.
func ExampleFrom() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	table.Columns = []string{"day", "n"}
	received, failed := make(chan []any), errors.New("the queue is gone")
	go func() {
		defer close(received)
		for i, day := range []string{"monday", "friday", "sunday"} {
			received <- []any{day, i}
		}
	}()
	_, err := pgbulk.Upsert(ctx, conn, table, pgbulk.From(pgx.CopyFromFunc(func() ([]any, error) {
		row, ok := <-received
		if !ok {
			return nil, failed // nil, nil would end the rows
		}
		return row, nil
	})), pgbulk.UpsertOptions{})
	fmt.Println(errors.Is(err, failed))
	show(ctx, conn)
	// Output:
	// true
	// [monday 5 tuesday 7] <nil>
}

func Example_default() {
	ctx := context.Background()
	conn, table := visits(ctx)
	defer conn.Close(ctx)
	rows := [][]any{{"friday", pgbulk.Default}, {"sunday", 3}}
	_, err := pgbulk.Insert(ctx, conn, table, pgbulk.Values(slices.Values(rows)), pgbulk.InsertOptions{})
	if err != nil {
		panic(err)
	}
	show(ctx, conn)
	// Output: [friday 1 monday 5 sunday 3 tuesday 7] <nil>
}

// With database/sql, Raw gives the connection. It must not be kept after the function has returned.
// A transaction that was begun on the *sql.Conn is the call's too.
func Example_databaseSQL() {
	ctx := context.Background()
	db, err := sql.Open("pgx", server.DSN(pgtest.Unix))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "create temporary table visits (day date primary key, n int)"); err != nil {
		panic(err)
	}
	table := pgbulk.Table{Name: pgx.Identifier{"visits"}, Columns: []string{"day", "n"}, Key: []string{"day"}}
	rows := pgbulk.Slice([][]any{{"2026-01-01", 5}, {"2026-01-02", 7}})
	err = conn.Raw(func(driver any) error {
		result, err := pgbulk.Upsert(ctx, driver.(*stdlib.Conn).Conn(), table, rows, pgbulk.UpsertOptions{})
		fmt.Println(result.Affected, "rows")
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output: 2 rows
}
