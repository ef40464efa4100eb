package store

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"postage/lab"
	"postage/pgbulk"
	"postage/pgbulk/pgtest"
)

// Suite returns the stage's cases.
func Suite() lab.Suite {
	return suite(workload{rows: 1000, size: "16KB", letters: 16384}, workload{rows: 100, size: "16KB", letters: 16384}, workload{rows: 100_000, size: "200B", letters: 110},
		volume{"10MB", 610}, volume{"100MB", 6100}, volume{"1GB", 65_000})
}

// suite returns the cases for the page's workload, for a part of it that a run of a few minutes has the time
// for on a server, for one of small rows, and for volumes of the page's rows.
func suite(page, part, small workload, volumes ...volume) lab.Suite {
	suite := lab.Suite{Stage: "store", Doc: "Rows into PostgreSQL: which driver, which call, which buffer?", Figures: figures()}
	suite.Cases = append(suite.Cases,
		sinkCase(page, pgtest.Unix, true, "What does the client alone pay for one upsert of 1000 rows of 16 KB, whatever the server does with them?"),
		directCase(page))
	relaxed, durable := newService(false), newService(true)
	base := setting{workload: page, phase: phaseUpdate, column: "jsonb", compression: "pglz", transport: pgtest.Unix}
	first := base
	first.workload = part
	suite.Cases = append(suite.Cases,
		serverCase(first, relaxed, "What does a tenth of the page's upsert cost on a real server, when all rows exist?", false),
		sinkCase(small, pgtest.Unix, false, "What does the client alone pay per row and value, where rows are small: 100,000 rows of 200 bytes?"),
		sinkCase(page, pgtest.TCP, false, "What does loopback TCP add to the client's cost over a Unix socket?"))

	for _, slice := range []struct {
		doc    string
		change func(*setting)
	}{
		{"What does the page's upsert cost on a real server, when all rows exist?", func(*setting) {}},
		{"What does the page's upsert cost on a real server, when no row exists, and what do ways save that only insert?", func(s *setting) { s.phase = phaseInsert }},
		{"How much of the server's time is pglz, which lz4 saves?", func(s *setting) { s.compression = "lz4" }},
		{"How much of the server's time is reading JSON, which a text column saves?", func(s *setting) { s.column = "text" }},
		{"What is left for the driver to win where the server has neither JSON to read nor pglz to run?", func(s *setting) { s.column, s.compression = "text", "lz4" }},
		{"What does an upsert of 100,000 rows of 200 bytes cost on a real server, when all rows exist?", func(s *setting) { s.workload = small }},
		{"What does an insert of 100,000 rows of 200 bytes cost on a real server, and what do ways save that only insert?", func(s *setting) { s.workload, s.phase = small, phaseInsert }},
		{"What does loopback TCP add over a Unix socket, beside a real server's work?", func(s *setting) { s.transport = pgtest.TCP }},
		{"What does it cost when the server waits for the disk, as in production?", func(s *setting) { s.fsync = true }},
		{"What does it cost over TCP and with a server that waits for the disk, as a user's own server has it as a rule?", func(s *setting) { s.transport, s.fsync = pgtest.TCP, true }},
	} {
		s := base
		slice.change(&s)
		service := relaxed
		if s.fsync {
			service = durable
		}
		suite.Cases = append(suite.Cases, serverCase(s, service, slice.doc, s == base))
	}
	suite.Cases = append(suite.Cases, memoryCases(volumes, page.letters)...)
	return suite
}

// contenders returns the ways to write rows, in the order in which they are listed. To add
// one, write a file like its shortest neighbour and a line here.
func contenders() []*contender {
	return []*contender{
		pgxExec(baseline, pgx.QueryExecModeCacheStatement),
		pgxBatch(),
		pgxUnnest(),
		pgxCopyTemporary(),
		pgxCopy(),
		pgx4Exec(capacities[0]),
		pgx4Exec(capacities[1]),
		pgx4Exec(capacities[2]),
		pqExec(),
		bulkExec(),
		bulkRows("upsert", pgbulk.Auto),
		bulkRows("upsert", pgbulk.Bind),
		bulkRows("upsert", pgbulk.Copy),
		bulkRows("insert", pgbulk.Auto),
		bulkRows("insert", pgbulk.Bind),
		precomputed(precomputedName, 0),
	}
}

// execModes are the other ways that pgx's Exec can be told to go. They differ in round trips, and in
// whether the server is given parameters or one long text; compared at the sink, and in the page's case on a server.
func execModes() []*contender {
	return []*contender{
		pgxExec(baseline+"/mode=cache-describe", pgx.QueryExecModeCacheDescribe),
		pgxExec(baseline+"/mode=describe-exec", pgx.QueryExecModeDescribeExec),
		pgxExec(baseline+"/mode=exec", pgx.QueryExecModeExec),
		pgxExec(baseline+"/mode=simple", pgx.QueryExecModeSimpleProtocol),
	}
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
	}
	floor := precomputedName
	ways := append(append(contenders(), execModes()...), keptBuffer(), memcpy())
	if transport == pgtest.Unix {
		floor = roomyName
		ways = append(ways, precomputed(roomyName, 2<<20))
	}
	for _, contender := range ways {
		if !contender.insertsOnly {
			c.Contenders = append(c.Contenders, contender.row(openSink(w, transport), sinkChecks, floor))
		}
	}
	return c
}

// serverCase is a case on a real server, with all modes of pgx's Exec if modes is set.
func serverCase(s setting, service *lab.Service, doc string, modes bool) lab.Case {
	batch := 400 * time.Millisecond * time.Duration(1+s.rows/50_000)
	if s.rows < 1000 {
		batch = 50 * time.Millisecond
	}
	c := lab.Case{
		Name: fmt.Sprintf("Store/peer=postgres/phase=%s/rows=%d/size=%s/column=%s/compression=%s/transport=%s/fsync=%s",
			s.phase, s.rows, s.size, s.column, s.compression, s.transport, map[bool]string{true: "on", false: "off"}[s.fsync]),
		Doc:      doc,
		Batch:    batch,
		Service:  service,
		Baseline: baseline,
	}
	ways := contenders()
	if modes {
		ways = append(ways, execModes()...)
	}
	for _, contender := range ways {
		if s.phase == phaseInsert || !contender.insertsOnly {
			c.Contenders = append(c.Contenders, contender.row(openServer(s), serverChecks, precomputedName))
		}
	}
	return c
}
