package show

import (
	"io"

	"postage/internal/kit/report"
	"postage/internal/verdict"
	"postage/record"
)

// The JSON of a record, version 3: docs/reference/json.md says what the fields mean.
type (
	RecordForm struct {
		Version  int      `json:"version"`
		Machine  *Machine `json:"machine"`
		World    *world   `json:"world"`
		Seed     uint64   `json:"seed"`
		Duty     *float64 `json:"duty"`
		Partial  bool     `json:"partial"`
		Self     *self    `json:"self"`
		Rows     []row    `json:"rows"`
		Answers  []answer `json:"answers"`
		Warnings []string `json:"warnings"`
	}
	world struct {
		LiveHeap int64 `json:"live_heap"`
		GOGC     int   `json:"gogc"`
		Procs    int   `json:"procs"`
	}
	self struct {
		ElapsedSeconds float64 `json:"elapsed_s"`
	}
	row struct {
		Name           string              `json:"name"`
		Stage          string              `json:"stage"`
		Case           string              `json:"case"`
		Contender      string              `json:"contender"`
		Role           record.Role         `json:"role"`
		Floor          *string             `json:"floor"`
		Settings       map[string]string   `json:"settings"`
		Properties     map[string]string   `json:"properties"`
		Checks         *string             `json:"checks"`
		Revision       *string             `json:"revision"`
		OldOf          *string             `json:"old_of"`
		Instrument     *int                `json:"instrument"`
		N              *int                `json:"n"`
		Value          *record.Value       `json:"value"`
		Proof          record.Proof        `json:"proof"`
		Warnings       []string            `json:"warnings"`
		Blocks         int                 `json:"blocks"`
		NSOp           *verdict.Interval   `json:"ns_op"`
		WallOp         *verdict.Interval   `json:"wall_ns_op"`
		Ratio          *Ratio              `json:"ratio"`
		Verdict        verdict.Verdict     `json:"verdict"`
		Wall           *Ratio              `json:"wall_ratio"`
		BytesOp        *int64              `json:"bytes_op"`
		AllocsOp       *int64              `json:"allocs_op"`
		InstructionsOp *verdict.Interval   `json:"instructions_op"`
		Module         string              `json:"module"` // "" is known to be none
		FloorRatio     *float64            `json:"floor_ratio"`
		Metrics        map[string]*float64 `json:"metrics"`
	}
	answer struct {
		Case      string     `json:"case"`
		Use       string     `json:"use"`
		InsteadOf *string    `json:"instead_of"`
		Ratio     *Ratio     `json:"ratio"`
		Sure      *float64   `json:"sure"`
		Also      []string   `json:"also"`
		Departs   *departure `json:"departs"`
	}
	departure struct {
		Use   string `json:"use"`
		Ratio Ratio  `json:"ratio"`
		From  string `json:"from"`
	}
)

// Ratio is a figure as a multiple of another contender's.
type Ratio struct {
	To    string   `json:"to"`
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

func newRatio(to string, x verdict.Interval) Ratio {
	r := Ratio{To: to, Value: x.Value}
	if x.Bounded() {
		r.Low, r.High = &x.Low, &x.High
	}
	return r
}

// toBaseline is nil if the ratio has no value.
func toBaseline(c *verdict.CaseResult, ratio *verdict.Interval) *Ratio {
	if ratio == nil || report.Finite(ratio.Value) == nil {
		return nil
	}
	return new(newRatio(c.Baseline.Row.Contender, *ratio))
}

// Machine is the environment of a measurement.
type Machine struct {
	GOOS            string   `json:"goos"`
	GOARCH          string   `json:"goarch"`
	CPU             *string  `json:"cpu"`
	CPUDetail       *string  `json:"cpu_detail"`
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

// MachineOf is a machine's JSON form.
func MachineOf(m *record.Machine) *Machine {
	return &Machine{
		GOOS: m.GOOS, GOARCH: m.GOARCH, CPU: report.OrNull(m.CPU), CPUDetail: report.OrNull(m.CPUDetail), Cores: m.Cores,
		MemoryBytes: report.OrNull(m.MemoryBytes), Kernel: report.OrNull(m.Kernel), Virtualised: report.OrNull(m.Virtualised),
		Governor: report.OrNull(m.Governor), Go: m.Go, Load: m.Load, StealPercent: m.StealPercent, PressurePercent: m.PressurePercent,
		Counters: report.OrNull(m.Counters),
	}
}

// commonMetrics are in every row's metrics: null if the row has no such figure.
var commonMetrics = []string{
	record.EncodedBytes, record.ClientCPU, record.ServerCPU, record.WireOut, record.WireIn,
	"p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns",
}

// recordJSON writes a record in its JSON form. Rows keep the record's order.
func recordJSON(w io.Writer, rec *record.Record, a *verdict.Analysis) error {
	out := RecordForm{Version: 3, Machine: MachineOf(&rec.Machine), Seed: rec.Run.Seed, Partial: !rec.Run.Complete,
		Rows: []row{}, Answers: []answer{}, Warnings: report.List(a.Warnings)}
	if w := rec.Run.World; w != nil {
		out.World = &world{w.LiveHeap, w.GOGC, w.Procs}
	}
	if rec.Run.Complete {
		out.Duty = new(rec.Duty())
		out.Self = &self{rec.Run.Elapsed.Seconds()}
	}
	rows := map[string]row{}
	for _, c := range a.Cases {
		if advice := verdict.Advise(c); advice != nil && !packs(c) {
			out.Answers = append(out.Answers, answerForm(c, advice))
		}
		for _, r := range c.Rows {
			rows[r.Row.Name] = rowForm(c, r)
		}
	}
	for i := range rec.Rows {
		out.Rows = append(out.Rows, rows[rec.Rows[i].Name])
	}
	return report.WriteJSON(w, out)
}

func answerForm(c *verdict.CaseResult, advice *verdict.Advice) answer {
	ratio := func(r, to *verdict.Result) Ratio {
		x, _ := c.RatioOf(r, to)
		return newRatio(to.Row.Contender, x)
	}
	a := answer{Case: c.Name, Use: advice.Use.Row.Contender, Sure: report.Finite(advice.Sure), Also: []string{}}
	if advice.Instead != nil {
		a.InsteadOf, a.Ratio = &advice.Instead.Row.Contender, new(ratio(advice.Use, advice.Instead))
	}
	for _, r := range advice.Also {
		a.Also = append(a.Also, r.Row.Contender)
	}
	if r := advice.Departing; r != nil {
		a.Departs = &departure{r.Row.Contender, ratio(r, advice.Use), r.Row.Properties[record.Departs]}
	}
	return a
}

func rowForm(c *verdict.CaseResult, r *verdict.Result) row {
	about := r.Row
	out := row{
		Name: about.Name, Stage: about.Stage, Case: about.Case, Contender: about.Contender, Role: about.Role, Floor: report.OrNull(about.Floor),
		Settings: report.Map(about.Settings), Properties: report.Map(about.Properties), Checks: report.OrNull(about.Checks),
		Revision: report.OrNull(about.Revision), OldOf: report.OrNull(about.OldOf), Instrument: report.OrNull(about.Instrument),
		N: report.OrNull(about.N), Value: report.OrNull(about.Value), Proof: about.Proof, Warnings: report.List(about.Warnings),
		Blocks: r.Blocks, NSOp: r.NSOp, WallOp: r.WallOp, Ratio: toBaseline(c, r.Ratio), Verdict: r.Verdict, Wall: toBaseline(c, r.Wall),
		BytesOp: r.BytesOp, AllocsOp: r.AllocsOp, InstructionsOp: r.InstructionsOp, Module: about.Module, Metrics: map[string]*float64{},
	}
	if r.FloorRatio != nil {
		out.FloorRatio = report.Finite(*r.FloorRatio)
	}
	for _, unit := range commonMetrics {
		out.Metrics[unit] = nil
	}
	for unit, value := range r.Metrics {
		out.Metrics[unit] = report.Finite(value)
	}
	return out
}
