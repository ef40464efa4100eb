package lab

import (
	"context"
	"errors"
	"io"
	"strings"

	"postage/record"
)

// Service is a server that cases need and that all their workers share, because it takes
// too long to start one for each. StartServices starts it before the conductor runs.
type Service struct {
	// Start starts it. What takes long is announced on log.
	Start func(ctx context.Context, log io.Writer) (*Running, error)
}

// Running is a service that has been started.
type Running struct {
	// Environment tells workers how to reach it: "NAME=value".
	Environment []string
	// Serves says why the service cannot serve a contender of a case, nil if it can. Optional.
	Serves func(*Case, *Contender) error
	Stop   func() error
}

// StartServices starts the services that the entries' rows need, and returns what to tell
// workers and what stops them all. Rows whose service does not start are marked in the
// record as not measured. Those that a service cannot serve are marked as not possible, with the
// reason, even if the budget has no room for them.
func StartServices(ctx context.Context, entries []Entry, rec *record.Record, log io.Writer) (environment []string, stop func() error) {
	type outcome struct {
		running *Running
		err     error
	}
	started := map[*Service]outcome{}
	var stops []func() error
	for _, e := range entries {
		service, row := e.Case.Service, rec.Row(e.Row())
		if service == nil || row == nil || !row.OK() {
			continue
		}
		if _, ok := started[service]; ok {
			continue
		}
		running, err := service.Start(ctx, log)
		started[service] = outcome{running, err}
		if err == nil {
			environment = append(environment, running.Environment...)
			stops = append(stops, running.Stop)
		}
	}
	for _, e := range entries {
		o, row := started[e.Case.Service], rec.Row(e.Row())
		switch {
		case row == nil || row.Proof.Is(record.ProofNotPossible):
		case o.err != nil && row.OK():
			row.Proof = record.ProofNotMeasured.Because(oneLine(o.err))
		case o.running != nil && o.running.Serves != nil:
			if err := o.running.Serves(e.Case, &e.Contender); err != nil {
				row.Proof = record.ProofNotPossible.Because(oneLine(err))
			}
		}
	}
	return environment, func() error {
		var errs []error
		for _, stop := range stops {
			errs = append(errs, stop())
		}
		return errors.Join(errs...)
	}
}

// oneLine is an error's text with its lines joined, for a row's proof.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
