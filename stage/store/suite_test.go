package store

import (
	"context"
	"os"
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
	for _, c := range Suite().Cases {
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

// As many rows as it takes to have a value that is compressed, and two statements.
func testSuite() lab.Suite {
	return suite(workload{rows: 20, size: "16KB", letters: 16384}, workload{rows: 10, size: "16KB", letters: 16384}, workload{rows: 13_200, size: "200B", letters: 110}, volume{"8MB", 500})
}

func TestEveryContenderProves(t *testing.T) {
	ctx := context.Background()
	cases := testSuite().Cases
	if os.Getenv("POSTAGE_LONG") != "" {
		cases = Suite().Cases
	}
	for _, c := range cases {
		t.Run(strings.TrimPrefix(c.Name, "Store/"), func(t *testing.T) {
			if c.Service != nil && noServer != nil {
				t.Skip(noServer)
			}
			for _, contender := range c.Contenders {
				t.Run(contender.Name, func(t *testing.T) {
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

// Rows whose server does not start say why, in one line; the others are left as they are.
func TestServerThatDoesNotStart(t *testing.T) {
	t.Setenv("POSTAGE_DSN", "host=/nonexistent user=nobody")
	entries := lab.Entries([]lab.Suite{testSuite()})
	rec := &record.Record{}
	for _, e := range entries {
		rec.Rows = append(rec.Rows, record.Row{Name: e.Row(), Proof: record.ProofOK})
	}
	environment, stop := lab.StartServices(t.Context(), entries, rec)
	if err := stop(); err != nil || len(environment) > 0 {
		t.Errorf("environment %q, stopped with %v", environment, err)
	}
	for _, e := range entries {
		proof := rec.Row(e.Row()).Proof
		onServer := strings.HasPrefix(e.Case.Name, "Store/peer=postgres/")
		if onServer && (!proof.Is(record.ProofNotMeasured+"postgres: server of POSTAGE_DSN: ") || strings.Contains(string(proof), "\n")) || !onServer && proof != record.ProofOK {
			t.Fatalf("%s: %q", e.Row(), proof)
		}
	}
}
