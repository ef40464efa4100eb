package cli

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/record"
)

// --dsn is refused before a record is made if nothing would use it.
func TestDSNOfNoUse(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := command("run", "Store/op=direct", "--dsn", "host=here")
	if code != exitUsage || !strings.Contains(stderr, "none of the cases is measured on a PostgreSQL server") || !strings.Contains(stderr, "hint: ") {
		t.Errorf("exit status %d, %s%s", code, stdout, stderr)
	}
}

// A run on the user's server names its rows by what that is, and measures them: here over TCP, and
// it waits for the disk.
func TestDSNNamesRows(t *testing.T) {
	server, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true})
	if errors.Is(err, pgtest.ErrNone) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	out := filepath.Join(t.TempDir(), "r.txt")
	dsn := server.DSN(pgtest.TCP)
	cmd := exec.Command(built(t), "run", "Store/phase=update/rows=100/call=unnest", "--dsn", dsn, "--budget", "90s", "--precision", "50%", "--out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	rec, err := record.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Rows) < 3 || len(rec.Blocks) == 0 {
		t.Errorf("%d rows, %d blocks", len(rec.Rows), len(rec.Blocks))
	}
	for _, row := range rec.Rows {
		if !row.OK() || !strings.HasPrefix(row.Name, "Store/peer=postgres/phase=update/rows=100/") || !strings.Contains(row.Name, "/transport=tcp/fsync=on/") {
			t.Errorf("%s: %s", row.Name, row.Proof)
		}
	}
	code, _, stderr := command("run", "--list", "Store/phase=update/fsync=off", "--dsn", dsn)
	if code != exitUsage || !strings.Contains(stderr, "fsync=off was asked for, and the server in use has fsync=on") {
		t.Errorf("exit status %d, %s", code, stderr)
	}
}

// An option that no row has, or a value that none allows, is refused; several values are several
// cases.
func TestOptions(t *testing.T) {
	for _, r := range []struct {
		args string
		code int
		want string
	}{
		{"list Store/peer=sink/rows=100,100000/size=200B", exitOK, "Store/peer=sink/rows=100000/size=200B/transport=unix"},
		{"run --list Send/slice=inflight/inflight=64", exitOK, "Send/slice=inflight/tls=on/reuse=yes/inflight=64/conns=64"},
		{"run --list Apply/op=get/inflight=8/server=kcp", exitOK, "Apply/server=kcp/fsync=off/op=get/kind=configmap/inflight=8"},
		{"list Store/peer=sink/rows=3", exitUsage, `no row has "rows=3"`},
		{"run --list Store/op=direct/rows=100", exitUsage, "no row has all of its parts"},
		{"list Send/inflight=64/conns=64", exitOK, "Send/slice=inflight/tls=on/reuse=yes/inflight=64/conns=64"},
		{"run --list Route/peer=postgres/codec=pbfast --dsn host=/nonexistent", exitOK, "Route/msgs=1/peer=postgres"},
		{"run --list Apply/server=kcp/op=get", exitOK, "Apply/server=kcp/fsync=off/op=get"},
	} {
		code, stdout, stderr := command(strings.Fields(r.args)...)
		if code != r.code || !strings.Contains(stdout+stderr, r.want) {
			t.Errorf("%s: exit status %d, want %q in\n%s%s", r.args, code, r.want, stdout, stderr)
		}
	}
}

// All cases and options fit on one page.
func TestListIsOnePage(t *testing.T) {
	code, stdout, stderr := command("list")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if code != exitOK || len(lines) > 60 {
		t.Errorf("exit status %d, %d lines: %s", code, len(lines), stderr)
	}
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > helpWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"op=direct", "rows=1000|100|100000", "answer=100k|1k|5m", "op=crud/limiter=default"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
}

// How a run is resumed names the servers again, but no password.
func TestSuiteFlags(t *testing.T) {
	cmd := &cobra.Command{}
	if err := errors.Join(postage.suites.addFlags(cmd), cmd.Flags().Parse([]string{"--dsn", "host=/nonexistent password=secret", "--context=c"})); err != nil {
		t.Fatal(err)
	}
	if got := suiteFlags(cmd); got != " --context c --dsn ..." {
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
