package lab

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"postage/record"
)

func TestStartServices(t *testing.T) {
	starts, stops := 0, 0
	up := &Service{Start: func(context.Context, io.Writer) (*Running, error) {
		starts++
		return &Running{
			Environment: []string{"UP=1"},
			Serves: func(c *Case, _ *Contender) error {
				if c.Name == "X/a=refused" {
					return errors.New("the server has no lz4")
				}
				return nil
			},
			Stop: func() error { stops++; return nil },
		}, nil
	}}
	down := &Service{Start: func(context.Context, io.Writer) (*Running, error) {
		return nil, errors.New("none on this machine\nhint: install it")
	}}
	unused := &Service{Start: func(context.Context, io.Writer) (*Running, error) {
		t.Error("a service is started that only rows without figures need")
		return nil, errors.ErrUnsupported
	}}
	var entries []Entry
	rec := &record.Record{}
	for name, service := range map[string]*Service{"X/a=plain": nil, "X/a=served": up, "X/a=again": up, "X/a=refused": up, "X/a=down": down, "X/a=left": unused} {
		e := Entry{Case: &Case{Name: name, Service: service}, Contender: Contender{Name: "lib=x"}}
		row := record.Row{Name: e.Row(), Proof: record.ProofOK}
		if service == unused {
			row.Proof = record.ProofNotMeasured + "the budget is too small"
		}
		entries, rec.Rows = append(entries, e), append(rec.Rows, row)
	}
	environment, stop := StartServices(context.Background(), entries, rec, t.Output())
	if !slices.Equal(environment, []string{"UP=1"}) || starts != 1 {
		t.Errorf("environment %q after %d starts", environment, starts)
	}
	for name, want := range map[string]string{
		"X/a=plain": "ok", "X/a=served": "ok", "X/a=again": "ok", "X/a=left": "not measured: the budget is too small",
		"X/a=refused": "not possible: the server has no lz4",
		"X/a=down":    "not measured: none on this machine; hint: install it",
	} {
		if got := rec.Row(name + "/lib=x").Proof; string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := stop(); err != nil || stops != 1 {
		t.Errorf("stopped %d times, %v", stops, err)
	}
}
