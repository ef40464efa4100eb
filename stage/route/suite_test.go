package route

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"postage/internal/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/stage/store"
)

// suite is the stage's; the test program is its own server and its own sink, as postage is.
func suite() lab.Suite { return Suite(store.Suite()) }

// noServer is the reason why the tests have no PostgreSQL, nil if they have one.
var noServer error

func TestMain(m *testing.M) {
	servers := maps.Clone(store.Suite().Servers)
	maps.Copy(servers, suite().Servers)
	proc.ServeIfStarted(servers)
	os.Setenv("POSTAGE_PG_DOWNLOAD", "no")
	for _, name := range []string{"POSTAGE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		os.Unsetenv(name)
	}
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range suite().Cases {
		if c.Service == nil {
			continue
		}
		running, err := c.Service.Start(ctx, os.Stderr)
		if err != nil {
			noServer = err
			if !errors.Is(err, pgtest.ErrNone) || os.Getenv("CI") == "true" {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return run()
		}
		for _, v := range running.Environment {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
		defer func() {
			if err := running.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}()
		break // the cases have one and the same
	}
	return run()
}

func TestNames(t *testing.T) {
	if err := lab.Check([]lab.Suite{suite()}); err != nil {
		t.Error(err)
	}
}

// Every row proves itself, and then does operations. Parts with another codec's bytes, and what
// differs in its pace alone, are proven where tests may take longer.
func TestEveryContenderProves(t *testing.T) {
	for _, c := range suite().Cases {
		t.Run(strings.TrimPrefix(c.Name, "Route/"), func(t *testing.T) {
			if c.Service != nil && noServer != nil {
				t.Skip(noServer)
			}
			for _, contender := range c.Contenders {
				usual := contender.Name == c.Baseline || ofUsual(c.Name, contender.Name)
				again := isPart(contender.Name) && !strings.Contains(contender.Name, "pack=") || strings.Contains(c.Name, "slice=")
				if again && !usual && os.Getenv("POSTAGE_LONG") == "" {
					continue
				}
				t.Run(contender.Name, func(t *testing.T) { prove(t, contender) })
			}
		})
	}
}

func prove(t *testing.T, contender lab.Contender) {
	t.Helper()
	in, err := contender.Open(t.Context(), lab.Env{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	if err := in.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := in.(lab.Prepared).Prepare(); err != nil {
		t.Fatal(err)
	}
	before, err := in.(lab.Counted).Counters()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Run(3); err != nil {
		t.Fatal(err)
	}
	after, err := in.(lab.Counted).Counters()
	if err != nil {
		t.Fatal(err)
	}
	for unit, value := range after {
		if value <= before[unit] && !strings.Contains(unit, "cpu") {
			t.Errorf("%s went from %v to %v in 3 operations", unit, before[unit], value)
		}
	}
}
