package lab_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/record"
)

func TestStartServices(t *testing.T) {
	starts, stops := 0, 0
	up := &lab.Service{Start: func(context.Context, io.Writer) (*lab.Running, error) {
		starts++
		return &lab.Running{
			Environment: []string{"UP=1"},
			Serves: func(c *lab.Case, _ *lab.Contender) error {
				if strings.HasPrefix(c.Name, "X/a=refused") {
					return errors.New("the server has no lz4")
				}
				return nil
			},
			Stop: func() error { stops++; return nil },
		}, nil
	}}
	down := &lab.Service{Start: func(context.Context, io.Writer) (*lab.Running, error) {
		return nil, errors.New("none on this machine\nhint: install it")
	}}
	unused := &lab.Service{Start: func(context.Context, io.Writer) (*lab.Running, error) {
		t.Error("a service is started that only rows without figures need")
		return nil, errors.ErrUnsupported
	}}
	var entries []lab.Entry
	rec := &record.Record{}
	for name, service := range map[string]*lab.Service{"X/a=plain": nil, "X/a=served": up, "X/a=again": up, "X/a=refused": up, "X/a=refused/b=left": up, "X/a=down": down, "X/a=left": unused} {
		e := lab.Entry{Case: &lab.Case{Name: name, Service: service}, Contender: lab.Contender{Name: "lib=x"}}
		row := record.Row{Name: e.Row(), Proof: record.ProofOK}
		if service == unused || strings.HasSuffix(name, "=left") {
			row.Proof = record.ProofNotMeasured + "the budget is too small"
		}
		entries, rec.Rows = append(entries, e), append(rec.Rows, row)
	}
	environment, stop := lab.StartServices(context.Background(), entries, rec, t.Output())
	if !slices.Equal(environment, []string{"UP=1"}) || starts != 1 {
		t.Errorf("environment %q after %d starts", environment, starts)
	}
	for name, want := range map[string]string{
		"X/a=plain": "ok", "X/a=served": "ok", "X/a=again": "ok", "X/a=left": "not measured: the budget is too small",
		"X/a=refused":        "not possible: the server has no lz4",
		"X/a=refused/b=left": "not possible: the server has no lz4",
		"X/a=down":           "not measured: none on this machine; hint: install it",
	} {
		if got := rec.Row(name + "/lib=x").Proof; string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := stop(); err != nil || stops != 1 {
		t.Errorf("stopped %d times, %v", stops, err)
	}
}
