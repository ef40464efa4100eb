package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"postage/internal/sys/link"
	"postage/internal/sys/proc"
	"postage/lab"
	"postage/pgbulk/pgtest"
)

// noServer is the reason why the tests have no PostgreSQL, nil if they have one.
var noServer error

// serves and farServes are what the servers say of a row that they cannot serve.
var serves, farServes func(*lab.Case, *lab.Contender) error

// refusal is why its server cannot serve a row, nil if it can.
func refusal(c *lab.Case, way *lab.Contender) error {
	says := serves
	if strings.Contains(c.Name, "/slice=small/") {
		says = farServes
	}
	if c.Service == nil || says == nil {
		return nil
	}
	return says(c, way)
}

// The test program is its own sink, as postage is. It starts the servers that workers use.
func TestMain(m *testing.M) {
	proc.ServeIfStarted(Suite().Servers)
	// Tests talk only to this machine, and to a server of their own.
	os.Setenv("POSTAGE_PG_DOWNLOAD", "no")
	for _, name := range []string{"POSTAGE_DSN", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"} {
		os.Unsetenv(name)
	}
	os.Exit(withServers(m.Run))
}

func withServers(run func() int) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var services []*lab.Service
	suite := Suite()
	for _, c := range suite.Made(lab.Choices{"fsync": {"off", "on"}}) {
		if c.Service != nil && !slices.Contains(services, c.Service) {
			services = append(services, c.Service)
		}
	}
	for _, service := range services {
		running, err := service.Start(ctx, os.Stderr)
		if err != nil {
			noServer = err
			if !errors.Is(err, pgtest.ErrNone) || os.Getenv("CI") == "true" {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			break
		}
		if strings.Contains(fmt.Sprint(running.Environment), farVariable) || len(running.Environment) == 0 {
			farServes = running.Serves
		} else {
			serves = running.Serves
		}
		for _, v := range running.Environment {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
		defer func() {
			if err := running.Stop(); err != nil && !errors.Is(err, link.ErrBusy) { // no test measures
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}()
	}
	return run()
}

func withoutServer(cases []lab.Case) []lab.Case {
	return slices.DeleteFunc(cases, func(c lab.Case) bool { return c.Service != nil })
}
