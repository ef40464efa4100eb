package store

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/record"
)

func TestNames(t *testing.T) {
	if err := lab.Check([]lab.Suite{Suite()}); err != nil {
		t.Fatal(err)
	}
	headlines := 0
	for _, c := range Suite().Made(nil) {
		if c.Doc == "" {
			t.Errorf("%s has no Doc", c.Name)
		}
		if c.Headline {
			headlines++
		}
		if c.Headline && c.Service != nil {
			t.Errorf("%s: the first look must not need PostgreSQL", c.Name)
		}
	}
	if headlines != 1 {
		t.Errorf("%d headline cases, want 1", headlines)
	}
}

// testCases have as many rows as it takes to have a value that is compressed, and two statements.
func testCases() (cases []lab.Case) {
	suite, _ := suite("20", "13200", "1500")
	have := map[string]bool{}
	for _, choices := range []lab.Choices{
		nil,
		{"rows": {"13200"}, "size": {"200B"}},
		{"column": {"text"}, "compression": {"lz4"}},
		{"data": {"json"}, "compression": {"unnamed"}},
		{"rows": {"1500"}, "data": {"typed"}},
		{"transport": {"tcp"}, "fsync": {"on"}},
	} {
		for _, c := range suite.Made(choices) {
			if !have[c.Name] {
				have[c.Name] = true
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// Every contender proves itself on small workloads. With POSTAGE_LONG that is in every case, and
// with POSTAGE_LONG=hours on the workloads that are measured.
func TestEveryContenderProves(t *testing.T) {
	ctx := context.Background()
	cases := testCases()
	if os.Getenv("POSTAGE_LONG") == "hours" {
		cases = Suite().Made(nil)
	}
	proven := map[string]bool{}
	for _, c := range cases {
		if os.Getenv("POSTAGE_LONG") == "" {
			c.Contenders = slices.DeleteFunc(c.Contenders, func(way lab.Contender) bool { return again(proven, c.Name, way.Name) })
		}
		t.Run(strings.TrimPrefix(c.Name, "Store/"), func(t *testing.T) {
			if c.Service != nil && noServer != nil {
				t.Skip(noServer)
			}
			for _, contender := range c.Contenders {
				t.Run(contender.Name, func(t *testing.T) {
					if why := refusal(&c, &contender); why != nil {
						t.Skip(why)
					}
					in, err := contender.Open(ctx, lab.Env{Seed: 7})
					if err != nil {
						t.Fatal(err)
					}
					if err := in.Prove(ctx); err != nil {
						t.Error(err)
					}
					if p, ok := in.(lab.Prepared); ok {
						if err := p.Prepare(); err != nil {
							t.Error(err)
						}
					}
					if err := in.Run(2); err != nil {
						t.Error(err)
					}
					if err := in.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// again says that a contender was proven in a case that differs in the server's settings alone, or
// the way to it. Of many small rows, which take several statements, one case proves it. A few are
// proven in every case.
func again(proven map[string]bool, caseName, contender string) bool {
	same := []string{"compression", "transport", "fsync"}
	if strings.Contains(caseName, "/rows=13200/") {
		same = append(same, "peer", "phase", "column")
	}
	var keys []string
	for _, key := range strings.Split(caseName, "/") {
		if name, _, _ := strings.Cut(key, "="); !slices.Contains(same, name) {
			keys = append(keys, key)
		}
	}
	row := strings.Join(append(keys, contender), "/")
	every := []string{baseline, "lib=pgbulk/call=upsert/strategy=auto", precomputedName}
	seen := proven[row]
	proven[row] = true
	return seen && !slices.Contains(every, contender)
}

// Rows whose server does not start say why, in one line; the others are left as they are.
func TestServerThatDoesNotStart(t *testing.T) {
	t.Setenv("POSTAGE_DSN", "host=/nonexistent user=nobody")
	entries := lab.Entries([]lab.Suite{{Stage: "store", Cases: testCases()}})
	rec := &record.Record{}
	for _, e := range entries {
		rec.Rows = append(rec.Rows, record.Row{Name: e.Row(), Proof: record.ProofOK})
	}
	environment, stop := lab.StartServices(t.Context(), entries, rec, t.Output())
	if err := stop(); err != nil || len(environment) > 0 {
		t.Errorf("environment %q, stopped with %v", environment, err)
	}
	for _, e := range entries {
		proof := rec.Row(e.Row()).Proof
		if strings.Contains(e.Case.Name, "/slice=small/") { // on a scratch cluster alone
			if !strings.Contains(string(proof), "a network of its own") {
				t.Errorf("%s: %q", e.Row(), proof)
			}
			continue
		}
		onServer := strings.HasPrefix(e.Case.Name, "Store/peer=postgres/")
		if onServer && (!proof.Is(record.ProofNotMeasured+"postgres: server of POSTAGE_DSN: ") || strings.Contains(string(proof), "\n")) || !onServer && proof != record.ProofOK {
			t.Fatalf("%s: %q", e.Row(), proof)
		}
	}
}

// A row's floor compresses if the row does: the row would otherwise be faster than its floor.
func TestFloorIsAlike(t *testing.T) {
	rows := 0
	cases := Suite().Made(lab.Choices{"compression": {"pglz", unnamed}})
	for _, e := range lab.Entries([]lab.Suite{{Stage: "store", Cases: cases}}) {
		name, floor := e.Contender.Name, e.Contender.OwnFloor
		if floor == "" {
			continue
		}
		compresses := strings.HasSuffix(name, "/toast=lz4")
		if strings.HasSuffix(floor, "/toast=lz4") != compresses {
			t.Errorf("%s: its floor is %s", e.Row(), floor)
		}
		if compresses {
			rows++
		}
	}
	if rows == 0 {
		t.Error("no row compresses")
	}
}
