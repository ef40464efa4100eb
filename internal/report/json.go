package report

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"postage/internal/stats"
	"postage/internal/verdict"
	"postage/record"
)

// The JSON form of a record, version 2: a stable interface. A value that is absent is
// null, never 0.
type (
	jsonRecord struct {
		Version  int         `json:"version"`
		Machine  jsonMachine `json:"machine"`
		Seed     uint64      `json:"seed"`
		Duty     *float64    `json:"duty"`
		Partial  bool        `json:"partial"`
		Self     *jsonSelf   `json:"self"`
		Rows     []jsonRow   `json:"rows"`
		Warnings []string    `json:"warnings"`
	}
	jsonMachine struct {
		GOOS            string   `json:"goos"`
		GOARCH          string   `json:"goarch"`
		CPU             *string  `json:"cpu"`
		Cores           int      `json:"cores"`
		MemoryBytes     *int64   `json:"memory_bytes"`
		Kernel          *string  `json:"kernel"`
		Virtualised     *string  `json:"virtualised"`
		Governor        *string  `json:"governor"`
		Go              string   `json:"go"`
		Load            *float64 `json:"load"`
		StealPercent    *float64 `json:"steal_percent"`
		PressurePercent *float64 `json:"pressure_percent"`
		Counters        *string  `json:"counters"`
	}
	jsonSelf struct {
		OverheadNSOp       float64 `json:"overhead_ns_op"`
		ConductorPeakBytes *int64  `json:"conductor_peak_bytes"`
		ElapsedSeconds     float64 `json:"elapsed_s"`
	}
	jsonRow struct {
		Name       string              `json:"name"`
		Stage      string              `json:"stage"`
		Case       string              `json:"case"`
		Contender  string              `json:"contender"`
		Role       record.Role         `json:"role"`
		Proof      record.Proof        `json:"proof"`
		Blocks     int                 `json:"blocks"`
		NSOp       *jsonValue          `json:"ns_op"`
		CodeOp     *float64            `json:"code_ns_op"`
		GarbageOp  *float64            `json:"garbage_ns_op"`
		WallOp     *jsonValue          `json:"wall_ns_op"`
		Ratio      *jsonRatio          `json:"ratio"`
		WallRatio  *jsonRatio          `json:"wall_ratio"`
		Tail       *float64            `json:"tail"`
		Verdict    stats.Verdict       `json:"verdict"`
		FloorRatio *float64            `json:"floor_ratio"`
		BytesOp    *int64              `json:"bytes_op"`
		AllocsOp   *int64              `json:"allocs_op"`
		InstrOp    *jsonValue          `json:"instructions_op"`
		Metrics    map[string]*float64 `json:"metrics"`
		Settings   map[string]string   `json:"settings"`
		Properties map[string]string   `json:"properties"`
		Module     string              `json:"module"`
		Warnings   []string            `json:"warnings"`
	}
	// jsonValue is a figure with its 95% interval, null where there are too few blocks for one.
	jsonValue struct {
		Value float64  `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
	}
	jsonRatio struct {
		To string `json:"to"`
		jsonValue
	}
)

// commonMetrics are in every row's metrics, null where the row has no such figure.
var commonMetrics = []string{record.EncodedBytes, record.ClientCPU, record.ServerCPU, record.WireOut, record.WireIn, "p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns"}

// recordJSON writes the record in its JSON form. Rows keep the record's order.
func recordJSON(w io.Writer, rec *record.Record, a *verdict.Analysis) error {
	out := jsonRecord{
		Version:  3,
		Machine:  newJSONMachine(&rec.Machine),
		Seed:     rec.Run.Seed,
		Partial:  !rec.Run.Complete,
		Rows:     []jsonRow{},
		Warnings: orEmpty(a.Warnings),
	}
	if self := rec.Run.Self; self != nil {
		elapsed := rec.Run.Elapsed.Seconds()
		out.Duty = &self.Duty
		out.Self = &jsonSelf{OverheadNSOp: self.OverheadNS, ConductorPeakBytes: orNull(self.PeakBytes), ElapsedSeconds: elapsed}
	}
	results := map[string]*verdict.Result{}
	baselines := map[string]string{}
	for i := range a.Cases {
		for _, r := range a.Cases[i].Rows {
			results[r.Row.Name] = r
		}
		if b := a.Cases[i].Baseline; b != nil {
			baselines[a.Cases[i].Name] = b.Row.Contender
		}
	}
	for i := range rec.Rows {
		row := &rec.Rows[i]
		out.Rows = append(out.Rows, newJSONRow(results[row.Name], baselines[row.Case]))
	}
	return writeJSON(w, out)
}

func newJSONMachine(m *record.Machine) jsonMachine {
	return jsonMachine{
		GOOS: m.GOOS, GOARCH: m.GOARCH, CPU: orNull(m.CPU), Cores: m.Cores, MemoryBytes: orNull(m.MemoryBytes),
		Kernel: orNull(m.Kernel), Virtualised: orNull(m.Virtualised), Governor: orNull(m.Governor), Go: m.Go,
		Load: m.Load, StealPercent: m.StealPercent, PressurePercent: m.PressurePercent, Counters: orNull(m.Counters),
	}
}

// orNull is nil for the zero value.
func orNull[T comparable](x T) *T {
	var unknown T
	if x == unknown {
		return nil
	}
	return &x
}

func newJSONRow(r *verdict.Result, baseline string) jsonRow {
	row := r.Row
	j := jsonRow{
		Name: row.Name, Stage: row.Stage, Case: row.Case, Contender: row.Contender, Role: row.Role,
		Proof: row.Proof, Blocks: r.Blocks, Verdict: r.Verdict,
		CodeOp: r.CodeOp, GarbageOp: r.GarbageOp, WallOp: newJSONValue(r.WallOp), Tail: r.Tail, BytesOp: r.BytesOp, AllocsOp: r.AllocsOp, InstrOp: newJSONValue(r.InstructionsOp),
		Metrics: map[string]*float64{}, Settings: orEmptyMap(row.Settings), Properties: orEmptyMap(row.Properties),
		Module: row.Module, Warnings: orEmpty(row.Warnings),
	}
	j.NSOp = newJSONValue(r.NSOp)
	if r.FloorRatio != nil {
		j.FloorRatio = &r.FloorRatio.Value
	}
	j.Ratio, j.WallRatio = newJSONRatio(r.Ratio, baseline), newJSONRatio(r.Wall, baseline)
	for _, unit := range commonMetrics {
		j.Metrics[unit] = nil
	}
	for unit, value := range r.Metrics {
		j.Metrics[unit] = finite(value)
	}
	return j
}

func newJSONRatio(x *stats.Comparison, baseline string) *jsonRatio {
	if x == nil {
		return nil
	}
	return &jsonRatio{To: baseline, jsonValue: *newJSONValue(&verdict.Interval{Value: x.Ratio, Low: x.Low, High: x.High})}
}

// newJSONValue returns nil for a figure that is not known.
func newJSONValue(i *verdict.Interval) *jsonValue {
	switch {
	case i == nil:
		return nil
	case !bounded(i):
		return &jsonValue{Value: i.Value}
	}
	return &jsonValue{i.Value, &i.Low, &i.High}
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func orEmptyMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// timestamp is a time as JSON has it, nil if it is not known.
func timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339)
	return &s
}
