package cli

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/record"
	"postage/stage"
)

// --dsn is refused before a record is made if nothing would use it.
func TestDSNOfNoUse(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := command("run", "Store/op=direct", "--dsn", "host=here")
	if code != exitUsage || !strings.Contains(stderr, "none of the cases is measured on a PostgreSQL server") || !strings.Contains(stderr, "hint: ") {
		t.Errorf("exit status %d, %s%s", code, stdout, stderr)
	}
}

// The run's services go to the server that --dsn names, and to no other. The value is not printed,
// because it may have a password in it.
func TestDSNReachesServices(t *testing.T) {
	p := program{"postage", stage.Suites()}
	entries, err := lab.Select(p.suites, []string{"Store/peer=postgres/rows=100"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	if err := errors.Join(p.addFlags(cmd), cmd.Flags().Parse([]string{"--dsn", "host=/nonexistent user=nobody", "--context=c"})); err != nil {
		t.Fatal(err)
	}
	rec := &record.Record{}
	for _, e := range entries {
		rec.Rows = append(rec.Rows, record.Row{Name: e.Row(), Proof: record.ProofOK})
	}
	_, stop := lab.StartServices(cmd.Context(), entries, rec, t.Output())
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, row := range rec.Rows {
		if !strings.HasPrefix(string(row.Proof), string(record.ProofNotMeasured)+"postgres: server of the given DSN: ") {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
	if got := again(cmd); got != " --context c --dsn ..." {
		t.Errorf("to resume: %q", got)
	}
}

// Errors in a user's own suites are reported. Any stage name is allowed.
func TestWrongSuites(t *testing.T) {
	good := func() lab.Suite {
		return lab.Suite{Stage: "post", Cases: []lab.Case{{Name: "Post/by=foot", Doc: "?", Headline: true, Baseline: "who=a", Contenders: []lab.Contender{
			{Name: "who=a", Checks: "nothing", Open: func(context.Context, lab.Env) (lab.Instance, error) { return nil, errors.New("closed") }}}}}}
	}
	budget, row := good(), good()
	budget.Flags = func(f *flag.FlagSet) { f.String("budget", "", "") }
	row.Cases[0].Name = "Mail/by=foot"
	for _, r := range []struct {
		suite lab.Suite
		says  string
	}{
		{budget, "the suite post has a flag --budget, which already exists"},
		{row, `case Mail/by=foot: does not begin with the stage "post", capitalised`},
	} {
		var out, errs strings.Builder
		if code := (program{"postage", []lab.Suite{r.suite}}).run(t.Context(), []string{"run"}, nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), r.says) {
			t.Errorf("exit status %d, %q, want %q", code, errs.String(), r.says)
		}
	}
	var out, errs strings.Builder
	if code := (program{"postage", []lab.Suite{good()}}).run(t.Context(), []string{"run", "--help"}, nil, &out, &errs); code != 0 || !strings.Contains(out.String(), "postage run Post/by=foot --budget 90s") || strings.Contains(out.String(), "--dsn") {
		t.Errorf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
}
