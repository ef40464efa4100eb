package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/internal/service/postgres"
	"postage/internal/sys/link"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// smallRTT is the round-trip time to the server of the small calls.
const smallRTT = 5 * time.Millisecond

// farVariable is the environment variable that tells workers how to reach that server.
const farVariable = "POSTAGE_STORE_FAR"

// smallCases are the calls that services make most: a few rows, to a server on another machine.
func smallCases(service *lab.Service) (cases []lab.Case) {
	for _, op := range []string{"insert", "upsert", "update"} {
		for _, rows := range []int{10, 200} {
			w := workload{rows: rows, size: "100B", data: dataTyped, letters: 19}
			c := lab.Case{
				Name:     fmt.Sprintf("Store/peer=postgres/slice=small/op=%s/rows=%d/size=100B/rtt=%v", op, rows, smallRTT),
				Doc:      fmt.Sprintf("How long does one %s of %d rows of 100 bytes take on a server that is %v away?", op, rows, smallRTT),
				Batch:    smallRTT, // one operation
				Baseline: baseline, Service: service, Value: record.ValueWall,
			}
			for _, way := range smallWays(op) {
				c.Contenders = append(c.Contenders, way.row(openFar(op, w), serverChecks, ""))
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// smallWays are the calls of pgx that services use for a few rows, and pgbulk's.
func smallWays(op string) []*contender {
	exec := &contender{name: baseline, module: pgxModule, pgx: unprepared(func(ctx context.Context, conn *pgx.Conn, t *target) error {
		_, err := conn.Exec(ctx, t.write(op, "values "+t.placeholders(op, len(t.rows))), slices.Concat(t.rows...)...)
		return err
	})}
	ways := []*contender{exec, pgxBatch(op), pgxUnnest(op)}
	if op == "insert" {
		return append(ways, pgxCopy(), bulk("insert/strategy=auto"))
	}
	return append(ways, bulk(op+"/strategy=auto"))
}

// write is the statement that writes the rows of a source, VALUES or SELECT.
func (t *target) write(op, source string) string {
	columns := columnsOf(len(t.types))
	switch op {
	case "insert":
		return "insert into " + t.table + " (" + quoted(columns) + ") " + source
	case "upsert":
		return "insert into " + t.table + " (" + quoted(columns) + ") " + source + updating(columns)
	}
	var set []string
	for _, c := range columns[1:] {
		set = append(set, fmt.Sprintf("%q = v.%[1]q", c))
	}
	return "update " + t.table + " as t set " + strings.Join(set, ", ") + " from (" + source + ") as v (" + quoted(columns) + ") where t.id = v.id"
}

// placeholders are the parameters of some rows, with their types where no column has them.
func (t *target) placeholders(op string, rows int) string {
	var list []string
	for i := range rows {
		row := make([]string, len(t.types))
		for j, typ := range t.types {
			if row[j] = fmt.Sprintf("$%d", i*len(t.types)+j+1); op == "update" {
				row[j] += "::" + typ
			}
		}
		list = append(list, "("+strings.Join(row, ", ")+")")
	}
	return strings.Join(list, ", ")
}

// far is a server at the other end of a network.
type far struct {
	DSN   string    // over the network
	Local string    // through its Unix socket, for what is not timed
	Near  *link.End // where clients are
}

// farService starts a network, and a scratch cluster at its far end.
func farService(use *userDSN) *lab.Service {
	return &lab.Service{Start: func(ctx context.Context, log io.Writer) (*lab.Running, error) {
		refused := func(why error) (*lab.Running, error) {
			return &lab.Running{Stop: func() error { return nil }, Serves: func(*lab.Case, *lab.Contender) error { return why }}, nil
		}
		if _, named := postgres.Named(use.text); named {
			return refused(errors.New("a server that you name has a network of its own, and these rows ask for one of " + smallRTT.String()))
		}
		network, err := link.Open(ctx, link.Spec{RTT: smallRTT})
		if errors.Is(err, link.ErrNotPossible) {
			return refused(err)
		}
		if err != nil {
			return nil, err
		}
		o := serverOptions(log)
		o.Scratch.Start, o.Scratch.Settings["listen_addresses"] = network.Far.Start, network.Far.IP
		s, err := postgres.Start(ctx, o)
		if err != nil {
			return nil, errors.Join(err, network.Close())
		}
		text, err := json.Marshal(far{strings.Replace(s.DSN(pgtest.TCP), "127.0.0.1", network.Far.IP, 1), s.DSN(pgtest.Unix), network.Near})
		if err != nil {
			return nil, errors.Join(err, s.Stop(), network.Close())
		}
		return &lab.Running{
			Environment: []string{farVariable + "=" + string(text)},
			Stop: func() error {
				_, err := network.Kept()
				return errors.Join(err, s.Stop(), network.Close())
			},
		}, nil
	}}
}

// config is how to connect: over the network, if there is one between.
func (f *far) config(dsn string) (*pgx.ConnConfig, error) {
	if f == nil {
		return pgx.ParseConfig(dsn)
	}
	config, err := pgx.ParseConfig(f.DSN)
	if err == nil {
		config.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return f.Near.Dial(ctx, address) }
	}
	return config, err
}

// openFar opens a table on the far server. Only the contender's own connections go over the
// network.
func openFar(op string, w workload) func(context.Context, lab.Env) (place, error) {
	return func(ctx context.Context, env lab.Env) (place, error) {
		var f far
		if err := json.Unmarshal([]byte(os.Getenv(farVariable)), &f); err != nil {
			return nil, fmt.Errorf("there is no server: %s: %w", farVariable, err)
		}
		phase := phaseUpdate
		if op == "insert" {
			phase = phaseInsert
		}
		s := setting{workload: w, phase: phase, compression: unnamed}
		return s.open(ctx, env, reach{Scratch: true}, target{dsn: f.Local, far: &f})
	}
}
