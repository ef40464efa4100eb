package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postage/internal/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// Suite returns the stage's cases.
func Suite() lab.Suite {
	return suite(workloads{
		page:  workload{rows: 1000, size: "16KB", letters: 16384},
		part:  workload{rows: 100, size: "16KB", letters: 16384},
		small: workload{rows: 100_000, size: "200B", letters: 110},
		few:   workload{rows: 100, size: "200B", letters: 110},
		json:  workload{rows: 1000, size: "16KB", data: dataJSON, letters: 16384},
		typed: workload{rows: 100_000, size: "80B", data: dataTyped, letters: 12},
	}, volume{"10MB", 610}, volume{"100MB", 6100}, volume{"1GB", 65_000})
}

// workloads are the rows of the cases: the page's, a part of them for a run of a few minutes on a
// server, small rows, few of them as one request brings, realistic documents, and typed columns.
type workloads struct{ page, part, small, few, json, typed workload }

// suite returns the cases for workloads, and for volumes of the page's rows.
func suite(of workloads, volumes ...volume) lab.Suite {
	var use userDSN
	suite := lab.Suite{Stage: "store", Doc: "Rows into PostgreSQL: which driver, which call, which buffer?",
		Figures: figures(), Servers: map[string]proc.Server{sinkServer: serveSink}, Flags: use.flags, Choose: use.choose}
	suite.Cases = append(suite.Cases,
		sinkCase(of.page, pgtest.Unix, true, "What does the client alone pay for one upsert of 1000 rows of 16 KB, whatever the server does with them?"),
		directCase(of.page))
	relaxed, durable := newService(&use, false), newService(&use, true)
	base := setting{workload: of.page, phase: phaseUpdate, column: "jsonb", compression: "pglz", transport: pgtest.Unix}
	first := base
	first.workload = of.part
	suite.Cases = append(suite.Cases,
		serverCase(first, relaxed, "What does a tenth of the page's upsert cost on a real server, when all rows exist?"),
		sinkCase(of.small, pgtest.Unix, false, "What does the client alone pay per row and value, where rows are small: 100,000 rows of 200 bytes?"),
		sinkCase(of.few, pgtest.TCP, false, "What does the client alone pay where a request brings 100 rows of 200 bytes?"),
		sinkCase(of.page, pgtest.TCP, false, "What does loopback TCP add to the client's cost over a Unix socket?"))

	for _, slice := range []struct {
		doc    string
		change func(*setting)
		more   []*contender
	}{
		{"What does the page's upsert cost on a real server, when all rows exist?", func(*setting) {}, nil},
		{"What does the page's upsert cost on a real server, when no row exists, and what do ways save that only insert?", func(s *setting) { s.phase = phaseInsert }, nil},
		{"How much of the server's time is pglz, which lz4 saves?", func(s *setting) { s.compression = "lz4" }, nil},
		{"How much of the server's time is reading JSON, which a text column saves?", func(s *setting) { s.column = "text" }, nil},
		{"What is left for the driver to win where the server has neither JSON to read nor pglz to run?", func(s *setting) { s.column, s.compression = "text", "lz4" }, nil},
		{"What does an upsert of 100,000 rows of 200 bytes cost on a real server, when all rows exist?", func(s *setting) { s.workload = of.small }, nil},
		{"What does an insert of 100,000 rows of 200 bytes cost on a real server, and what do ways save that only insert?", func(s *setting) { s.workload, s.phase = of.small, phaseInsert }, nil},
		{"What does loopback TCP add over a Unix socket, beside a real server's work?", func(s *setting) { s.transport = pgtest.TCP }, nil},
		{"What does it cost when the server waits for the disk, as in production?", func(s *setting) { s.fsync = true }, nil},
		{"What does it cost over TCP and with a server that waits for the disk, as a user's own server has it as a rule?", func(s *setting) { s.transport, s.fsync = pgtest.TCP, true }, nil},
		{"What does an upsert of documents as services have them cost, in a column that names no compression, and what do lz4 and a second connection save?",
			func(s *setting) { s.workload, s.compression = of.json, unnamed }, compressing()},
		{"What does it save to leave rows alone that have not changed: nine of ten documents?",
			func(s *setting) { s.workload, s.compression, s.phase = of.json, unnamed, phaseTenth }, append(compressing(), bulk("upsert/strategy=auto/unchanged=skip"), bulk("upsert/strategy=auto/unchanged=skip/toast=lz4"))},
		{"What does an upsert of 100,000 rows of typed columns cost, when all rows exist?", func(s *setting) { s.workload = of.typed }, nil},
		{"What does an insert of 100,000 rows of typed columns cost?", func(s *setting) { s.workload, s.phase = of.typed, phaseInsert }, nil},
	} {
		s := base
		slice.change(&s)
		more := onServers()
		if s == base {
			more = append(more, execModes()...)
		}
		if s.transport == pgtest.Unix {
			more = append(more, pgxExec("/sndbuf=2MB"), precomputed("/sndbuf=2MB"))
		}
		service := relaxed
		if s.fsync {
			service = durable
		}
		suite.Cases = append(suite.Cases, serverCase(s, service, slice.doc, append(more, slice.more...)...))
	}
	suite.Cases = append(suite.Cases, memoryCases(volumes, of.page.letters)...)
	return suite
}

// contenders returns the ways to write rows, in the order in which they are listed. To add one,
// write a file like its shortest neighbour and add a line here.
func contenders() []*contender {
	return []*contender{
		pgxExec(""),
		pgxBatch(),
		pgxUnnest(),
		pgxCopyTemporary(),
		pgxCopy(),
		pgxCopyOwn(),
		pgxCopyText(false),
		pgxCopyText(true),
		sqlcBatch(),
		sqlcCopy(),
		pgx4Exec(capacities[0]),
		pgx4Exec(capacities[1]),
		pgx4Exec(capacities[2]),
		pqExec(),
		bulkExec(),
		bulk("upsert/strategy=auto"),
		bulk("upsert/strategy=bind"),
		bulk("upsert/strategy=copy"),
		bulk("insert/strategy=auto"),
		bulk("insert/strategy=bind"),
		precomputed(""),
	}
}

// onServers are the additional ways on a real server. Those with two connections are not one
// transaction.
func onServers() []*contender {
	return []*contender{
		pgxBatchRows(),
		pgxExec("/connections=2"),
		pqCopyIn(),
		bulk("upsert/strategy=unnest"),
		bulk("upsert-sharded/connections=2"),
		bulk("insert-sharded/connections=2"),
		precomputed("/connections=2"),
		precomputedCopy(""),
		precomputedCopy("/connections=2"),
	}
}

// compressing are ways to compress values with lz4 in a column that names no method.
func compressing() []*contender {
	return []*contender{
		pgxExec("/toast=lz4"),
		pgxExec("/toast=lz4/connections=2"),
		bulk("upsert/strategy=auto/toast=lz4"),
		bulk("upsert-sharded/toast=lz4/connections=2"),
		precomputed("/toast=lz4"),
		precomputed("/toast=lz4/connections=2"),
	}
}

// execModes are the other modes of pgx's Exec. They are compared at the sink, and in the page's
// case on a server.
func execModes() []*contender {
	return []*contender{pgxExec("/mode=cache-describe"), pgxExec("/mode=describe-exec"), pgxExec("/mode=exec"), pgxExec("/mode=simple")}
}

// baseline is pgx's Exec in its default mode.
const baseline = "lib=pgx/call=exec"

func sinkCase(w workload, transport pgtest.Transport, headline bool, doc string) lab.Case {
	c := lab.Case{
		Name:     fmt.Sprintf("Store/peer=sink/rows=%d/size=%s/transport=%s", w.rows, w.size, transport),
		Doc:      doc,
		Headline: headline,
		Batch:    30 * time.Millisecond * time.Duration(1+w.rows/50_000),
		Baseline: baseline,
		Value:    record.ValueWall,
	}
	if headline {
		c.First = []string{"lib=pgx/call=copy-temporary", "lib=pq/call=exec", "lib=pgbulk/call=exec", "lib=pgbulk/call=upsert/strategy=auto", roomyName}
	}
	floor := precomputedName
	ways := append(append(contenders(), execModes()...), keptBuffer(), memcpy())
	if transport == pgtest.Unix {
		floor = roomyName
		ways = append(ways, pgxExec("/sndbuf=2MB"), precomputed("/sndbuf=2MB"))
	}
	for _, contender := range ways {
		if !contender.insertsOnly {
			c.Contenders = append(c.Contenders, contender.row(openSink(w, transport), sinkChecks, floor))
		}
	}
	return c
}

// serverCase returns a case on a real server, with contenders in addition to those of all cases.
func serverCase(s setting, service *lab.Service, doc string, more ...*contender) lab.Case {
	batch := 400 * time.Millisecond
	if s.rows < 1000 {
		batch = 50 * time.Millisecond
	}
	c := lab.Case{Name: s.name(), Doc: doc, Batch: batch, Service: service, Baseline: baseline, Value: record.ValueWall}
	all := append(contenders(), more...)
	for _, contender := range all {
		pagesOwn := contender.module == pgx4Module // the cases about buffers use the page's rows
		if (s.phase == phaseInsert || !contender.insertsOnly) && (s.data == dataLetters || !pagesOwn) {
			c.Contenders = append(c.Contenders, contender.row(openServer(s), serverChecks, bound(contender, all)))
		}
	}
	return c
}

// bound names the floor that does what the contender does: it only inserts if the contender does,
// compresses as it does, and uses as many connections.
func bound(c *contender, all []*contender) string {
	name := precomputedName
	if c.insertsOnly {
		name = precomputedCopyName
	}
	for _, alike := range []string{"/toast=lz4", "/connections=2"} {
		longer := name + alike
		if strings.Contains(c.name, alike) && slices.ContainsFunc(all, func(o *contender) bool { return o.name == longer }) {
			name = longer
		}
	}
	return name
}
