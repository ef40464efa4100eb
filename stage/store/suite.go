package store

import (
	"fmt"
	"strings"
	"time"

	"postage/internal/sys/link"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// Suite returns the stage's cases.
func Suite() lab.Suite {
	suite, _ := SuiteAndServer()
	return suite
}

// SuiteAndServer returns the stage's cases, and the database of those without fsync.
func SuiteAndServer() (lab.Suite, *lab.Service) {
	return suite("1000", "100", "100000")
}

// suite returns the cases for numbers of rows, the default one first.
func suite(rows ...string) (lab.Suite, *lab.Service) {
	var use userDSN
	relaxed, durable, remote := newService(&use, false), newService(&use, true), farService(&use)
	return lab.Suite{
		Stage: "store", Doc: "Rows into PostgreSQL: which driver, which call, which buffer?",
		Figures: lab.Figures{Spoken: spoken}, Servers: map[string]proc.Server{sinkServer: serveSink, link.Name: link.Serve}, Flags: use.flags, Choose: use.choose, Server: use.server,
		Options: []lab.Option{
			{Name: "rows", Values: rows},
			{Name: "size", Values: []string{"16KB", "200B"}},
			{Name: "data", Values: []string{"letters", dataJSON, dataTyped}},
			{Name: "column", Values: []string{"jsonb", "text"}},
			{Name: "compression", Values: []string{"pglz", "lz4", unnamed}},
			{Name: "transport", Values: []string{string(pgtest.Unix), string(pgtest.TCP)}},
			{Name: "fsync", Values: []string{"off", "on"}},
		},
		Make: func(set lab.Settings) []lab.Case {
			s := setting{
				workload: workloadOf(set), column: set["column"], compression: set["compression"],
				transport: pgtest.Transport(set["transport"]), fsync: set["fsync"] == "on",
			}
			service := relaxed
			if s.fsync {
				service = durable
			}
			first := workloadOf(lab.Settings{"rows": rows[0], "size": "16KB", "data": "letters"})
			var cases []lab.Case
			if s.data == dataLetters && s.bytes() <= mostBytes {
				cases = append(cases, sinkCase(s.workload, s.transport))
			}
			cases = append(cases, directCase(first))
			if s.bytes() <= mostBytes {
				cases = append(cases, serverCases(s, service)...)
			}
			return append(cases, smallCases(remote)...)
		},
	}, relaxed
}

// mostBytes is about how large a write may be. Each worker keeps some copies of it.
const mostBytes = 100 << 20

// workloadOf is what the options ask for.
func workloadOf(set lab.Settings) workload {
	w := workload{rows: set.Int("rows"), size: set["size"], letters: 16384}
	if set["data"] != "letters" {
		w.data = set["data"]
	}
	switch {
	case w.data == dataTyped:
		w.size, w.letters = "80B", 12
	case w.size == "200B":
		w.letters = 110
	}
	return w
}

// bytes is about how many a write has.
func (w *workload) bytes() int { return w.rows * w.letters }

// serverCases are the cases on a real server, one for each state that the table may be in before.
func serverCases(s setting, service *lab.Service) []lab.Case {
	rows := fmt.Sprintf("%d rows of %s", s.rows, s.size)
	var cases []lab.Case
	for _, phase := range []struct{ name, doc string }{
		{phaseUpdate, "What does an upsert of " + rows + " cost on a real server, when all rows exist?"},
		{phaseInsert, "What does an insert of " + rows + " cost on a real server, and what do ways save that only insert?"},
	} {
		s.phase = phase.name
		more := []*contender{bulk("upsert/strategy=unnest"), precomputedCopy()}
		if s.phase == phaseUpdate {
			more = append(more, execModes()...)
		}
		if s.compression == unnamed && s.data != dataTyped {
			more = append(more, compressing()...)
		}
		cases = append(cases, serverCase(s, service, phase.doc, more...))
	}
	return cases
}

// contenders returns the ways to write rows, in the order in which they are listed. To add one,
// write a file like its shortest neighbour and add a line here.
func contenders() []*contender {
	return []*contender{
		pgxExec(""),
		pgxBatch("upsert"),
		pgxUnnest("upsert"),
		pgxCopyTemporary(),
		pgxCopy(),
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

// compressing are ways to compress values with lz4 in a column that names no method.
func compressing() []*contender {
	return []*contender{pgxExec("/toast=lz4"), bulk("upsert/strategy=auto/toast=lz4"), precomputed("/toast=lz4")}
}

// execModes are the other modes of pgx's Exec.
func execModes() []*contender {
	return []*contender{pgxExec("/mode=cache-describe"), pgxExec("/mode=describe-exec"), pgxExec("/mode=exec"), pgxExec("/mode=simple")}
}

// baseline is pgx's Exec in its default mode.
const baseline = "lib=pgx/call=exec"

func sinkCase(w workload, transport pgtest.Transport) lab.Case {
	floor := precomputedName
	ways := append(append(contenders(), execModes()...), keptBuffer(), memcpy())
	if transport == pgtest.Unix {
		floor = roomyName
		ways = append(ways, pgxExec("/sndbuf=2MB"), precomputed("/sndbuf=2MB"))
	}
	c := lab.Case{
		Name:     fmt.Sprintf("Store/peer=sink/rows=%d/size=%s/transport=%s", w.rows, w.size, transport),
		Doc:      fmt.Sprintf("What does the client alone pay for one upsert of %d rows of %s, whatever the server does with them?", w.rows, w.size),
		Headline: true,
		First:    []string{"lib=pgx/call=copy-temporary", "lib=pq/call=exec", "lib=pgbulk/call=exec", "lib=pgbulk/call=upsert/strategy=auto", floor},
		Batch:    30 * time.Millisecond * time.Duration(1+w.rows/50_000),
		Baseline: baseline,
		Value:    record.ValueWall,
	}
	for _, contender := range ways {
		if !contender.insertsOnly {
			c.Contenders = append(c.Contenders, contender.row(openSink(w, transport), sinkChecks, floor))
		}
	}
	return c
}

// serverCase returns a case on a real server. more are the contenders that only this case has.
func serverCase(s setting, service *lab.Service, doc string, more ...*contender) lab.Case {
	batch := 400 * time.Millisecond
	if s.rows < 1000 {
		batch = 50 * time.Millisecond
	}
	c := lab.Case{Name: s.name(), Doc: doc, Batch: batch, Service: service, Baseline: baseline, Value: record.ValueWall}
	for _, contender := range append(contenders(), more...) {
		pagesOwn := contender.module == pgx4Module // the cases about buffers use the page's rows
		if (s.phase == phaseInsert || !contender.insertsOnly) && (s.data == dataLetters || !pagesOwn) {
			c.Contenders = append(c.Contenders, contender.row(openServer(s), serverChecks, bound(contender)))
		}
	}
	return c
}

// bound names the floor that does what the contender does: it only inserts if the contender does,
// and compresses as it does.
func bound(c *contender) string {
	switch {
	case c.insertsOnly:
		return precomputedCopyName
	case strings.HasSuffix(c.name, "/toast=lz4"):
		return precomputedName + "/toast=lz4"
	}
	return precomputedName
}
