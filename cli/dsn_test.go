package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/record"
	"postage/stage"
)

// --dsn is refused where nothing would use it, before a record is made.
func TestDSNOfNoUse(t *testing.T) {
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	code := postage.run(t.Context(), []string{"run", "Store/op=direct", "--dsn", "host=here"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitUsage || !strings.Contains(stderr.String(), "none of the cases is measured on a PostgreSQL server") || !strings.Contains(stderr.String(), "hint: ") {
		t.Errorf("exit status %d, %s%s", code, stdout.String(), stderr.String())
	}
}

// The server that --dsn names is the one that the run's services go to, and nothing is tried in its place.
func TestDSNReachesServices(t *testing.T) {
	entries, err := lab.Select(stage.Suites(), []string{"Store/peer=postgres/rows=100"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if err := useDSN(cmd, "host=/nonexistent user=nobody", entries); err != nil {
		t.Fatal(err)
	}
	rec := &record.Record{}
	for _, e := range entries {
		rec.Rows = append(rec.Rows, record.Row{Name: e.Row(), Proof: record.ProofOK})
	}
	_, stop := lab.StartServices(cmd.Context(), entries, rec)
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, row := range rec.Rows {
		if !row.Proof.Is(record.ProofNotMeasured + "postgres: server of the given DSN: ") {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
}
