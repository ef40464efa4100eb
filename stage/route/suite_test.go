package route

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"postage/internal/sys/link"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
	"postage/stage/encode"
	"postage/stage/send"
	"postage/stage/store"
)

// suite is the stage's; the test program is its own server and its own sink, as postage is.
func suite() lab.Suite {
	stored, database := store.SuiteAndServer()
	return Suite(encode.Orders(), database, stored, send.Suite())
}

// eachNumber is both numbers of messages in a request.
var eachNumber = lab.Choices{"msgs": {"1", "100"}}

// ofOrders is the way of orders.
var ofOrders = route{encode.Orders()}

// noServer is the reason why the tests have no PostgreSQL, nil if they have one.
var noServer error

func TestMain(m *testing.M) {
	servers := maps.Clone(store.Suite().Servers)
	maps.Copy(servers, suite().Servers)
	maps.Copy(servers, send.Suite().Servers)
	if config := os.Getenv(broughtAt); config != "" {
		servers = brought(config)[0].Servers
	}
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
	for _, c := range suite().Made(nil) {
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

// Every row proves itself, and then does operations. Parts with another codec's bytes are proven
// where tests may take longer.
func TestEveryContenderProves(t *testing.T) {
	proveAll(t, &ofOrders, suite().Made(eachNumber))
}

func proveAll(t *testing.T, r *route, cases []lab.Case) {
	for _, c := range cases {
		t.Run(strings.TrimPrefix(c.Name, "Route/"), func(t *testing.T) {
			if c.Service != nil && noServer != nil {
				t.Skip(noServer)
			}
			for _, contender := range c.Contenders {
				usual := contender.Name == c.Baseline || r.ofUsual(c.Name, contender.Name)
				again := isPart(contender.Name) && !strings.Contains(contender.Name, "pack=")
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

// --link of the stage send puts its network under the rows of this one too, beside the database
// that some have, and an operation takes a round trip then.
func TestLink(t *testing.T) {
	sent := send.Suite()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	sent.Flags(flags)
	if err := flags.Set("link", "rtt=20ms"); err != nil {
		t.Fatal(err)
	}
	stored, database := store.SuiteAndServer()
	s := Suite(encode.Orders(), database, stored, sent)
	entries, err := lab.Select([]lab.Suite{s}, []string{"Route/msgs=1/pack=zstd"})
	if err != nil {
		t.Fatal(err)
	}
	c := &lab.Choice{Entries: entries, Patterns: []string{"Route/msgs=1/pack=zstd"}}
	if err := s.Choose(c); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Entries {
		if e.Contender.Settings["link"] != "rtt=20ms,loss=0%" || e.Case.Service == nil || e.Case.Batch != manyOverNetwork*20*time.Millisecond {
			t.Errorf("%s: %v, %v", e.Row(), e.Contender.Settings, e.Case.Batch)
		}
	}
	if err := sent.Choose(&lab.Choice{}); err != nil {
		t.Errorf("the flag is used, but: %v", err)
	}
	running, err := c.Entries[0].Case.Service.Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if running.Serves != nil {
		err := running.Serves(nil, nil)
		if !errors.Is(err, link.ErrNotPossible) || os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Setenv(strings.Split(running.Environment[0], "=")[0], "rtt=20ms")
	in, err := c.Entries[0].Contender.Open(t.Context(), lab.Env{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := in.Run(2); err != nil || time.Since(begun) < 40*time.Millisecond {
		t.Errorf("two operations over 20 ms took %v, %v", time.Since(begun), err)
	}
	counters, err := in.(lab.Counted).Counters()
	if err != nil || counters["link-packets/op"] < 20 {
		t.Errorf("%v, %v", counters, err)
	}
}
