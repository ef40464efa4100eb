package verdict_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// onMachine is the record of a machine that is slower by a factor as a whole, and at some rows.
func onMachine(seed uint64, whole float64, slower map[string]float64) *record.Record {
	run := &recordtest.Run{Rand: rand.New(rand.NewPCG(7, seed)), Cases: 1, Blocks: 14, Slower: map[string]float64{}}
	for _, contender := range []string{"codec=base", "codec=control", "codec=a", "codec=b", "codec=c", "codec=d", "floor=memcpy"} {
		factor := whole
		if f := slower[contender]; f != 0 {
			factor *= f
		}
		run.Slower["Encode/msg=0/op=encode/"+contender] = factor
	}
	return run.Record()
}

// A machine that is three times as slow as a whole has the same ratios. Only rows whose ratios
// differ are apart, by no more than they differ, and each ratio is that of its own record.
func TestMachinesAreComparedByRatios(t *testing.T) {
	a, b, third := onMachine(1, 1, nil), onMachine(2, 3, map[string]float64{"codec=b": 1.5, "codec=c": 0.4}), onMachine(3, 1, nil)
	m := verdict.CompareMachines([]string{"a", "b", "third"}, []*record.Record{a, b, third})
	rows := map[string]*verdict.MachinesRow{}
	for _, r := range m.Rows {
		rows[r.Row.Contender] = r
	}
	if m.Rows[0].Row.Contender != "codec=base" || len(m.Rows) != 6 || rows["codec=control"] != nil {
		t.Errorf("%d rows, first %s: want the baseline first, and no control", len(m.Rows), m.Rows[0].Row.Contender)
	}
	for contender, factor := range map[string]float64{"codec=a": 1, "codec=b": 1.5, "codec=c": 1 / 0.4, "codec=d": 1} {
		r := rows[contender]
		if r.Apart > factor || r.Apart < 1+(factor-1)*0.9 {
			t.Errorf("%s: apart by %g, want up to %g", contender, r.Apart, factor)
		}
		if r.Opposed != (contender == "codec=c") { // 2 on one machine, 0.8 on the other
			t.Errorf("%s: opposed %v", contender, r.Opposed)
		}
		for i, rec := range m.Records {
			if own, ok := verdict.RatioOf(rec, r.Row.Name, "Encode/msg=0/op=encode/codec=base"); !ok || own.Low != r.Results[i].Ratio.Low || own.High != r.Results[i].Ratio.High {
				t.Errorf("%s on %s: %+v, in its own record %+v", contender, m.Names[i], r.Results[i].Ratio, own)
			}
		}
	}
	if len(m.Warnings) != 0 {
		t.Errorf("warnings %q", m.Warnings)
	}
}

// Rows that one record lacks, and rows without intervals, are not apart. What else differs between
// the records is said.
func TestMachinesDoubts(t *testing.T) {
	a, b := onMachine(1, 1, nil), onMachine(2, 1, map[string]float64{"codec=a": 2})
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Contender == "codec=b" {
			r.Proof = record.ProofFailed.Because("it decodes nothing")
		}
	}
	b.Run.Seed, b.Run.Program, b.Machine.Go = 2, "other", "go1.27.0"
	m := verdict.CompareMachines([]string{"a", "b"}, []*record.Record{a, b})
	for _, r := range m.Rows {
		if r.Row.Contender == "codec=b" && (r.Apart != 1 || r.Results[1].NSOp != nil || r.Results[0].Ratio == nil) {
			t.Errorf("%+v", r)
		}
	}
	for _, want := range []string{"a was measured with seed 1, b with 2", "the Go version go1.26.0, b with go1.27.0", "different programs"} {
		if !strings.Contains(strings.Join(m.Warnings, "\n"), want) {
			t.Errorf("no warning of %q in %q", want, m.Warnings)
		}
	}

	a.Blocks = a.Blocks[:2] // too few for an interval
	m = verdict.CompareMachines([]string{"a", "b"}, []*record.Record{a, onMachine(2, 1, map[string]float64{"codec=a": 9})})
	for i := range m.Rows {
		if m.Rows[i].Apart != 1 {
			t.Errorf("%s: apart by %g, without an interval on one machine", m.Rows[i].Row.Name, m.Rows[i].Apart)
		}
	}

	// Another baseline: nothing is compared.
	b = onMachine(2, 1, map[string]float64{"codec=a": 9})
	for i := range b.Rows {
		switch r := &b.Rows[i]; r.Contender {
		case "codec=base":
			r.Role = record.RoleContender
		case "codec=d":
			r.Role = record.RoleBaseline
		}
	}
	m = verdict.CompareMachines([]string{"a", "b"}, []*record.Record{onMachine(1, 1, nil), b})
	for i := range m.Rows {
		if m.Rows[i].Apart != 1 || m.Rows[i].Opposed {
			t.Errorf("%+v", m.Rows[i])
		}
	}
	if text := strings.Join(m.Warnings, "\n"); !strings.Contains(text, "its baseline is not the same everywhere (codec=base, codec=d)") {
		t.Errorf("%q", text)
	}
}
