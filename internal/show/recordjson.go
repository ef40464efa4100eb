package show

import (
	"io"

	"postage/internal/report"
	"postage/internal/verdict"
	"postage/record"
)

// The JSON of a record, version 3.
type (
	jsonRecord struct {
		Version  int             `json:"version"`
		Machine  *record.Machine `json:"machine"`
		World    *record.World   `json:"world"`
		Seed     uint64          `json:"seed"`
		Duty     *float64        `json:"duty"`
		Partial  bool            `json:"partial"`
		Self     *jsonSelf       `json:"self"`
		Rows     []jsonRow       `json:"rows"`
		Answers  []jsonAnswer    `json:"answers"`
		Warnings []string        `json:"warnings"`
	}
	jsonAnswer struct {
		Case      string              `json:"case"`
		Use       string              `json:"use"`
		InsteadOf string              `json:"instead_of,omitempty"`
		Ratio     *verdict.Comparison `json:"ratio"`
		Sure      float64             `json:"sure,omitempty"` // NaN is null
		Also      []string            `json:"also"`
		Departs   *jsonDeparture      `json:"departs"`
	}
	jsonDeparture struct {
		Use   string             `json:"use"`
		Ratio verdict.Comparison `json:"ratio"`
		From  string             `json:"from"`
	}
	jsonSelf struct {
		ConductorPeakBytes int64   `json:"conductor_peak_bytes,omitempty"`
		ElapsedSeconds     float64 `json:"elapsed_s"`
	}
	jsonRow struct {
		*record.Row
		*verdict.Result
		Module     string              `json:"module"` // "" is known to be none
		FloorRatio *float64            `json:"floor_ratio"`
		Metrics    map[string]*float64 `json:"metrics"`
	}
)

// commonMetrics are in every row's metrics, null where the row has no such figure.
var commonMetrics = []string{record.EncodedBytes, record.ClientCPU, record.ServerCPU, record.WireOut, record.WireIn, "p50-ns", "p90-ns", "p99-ns", "p99.9-ns", "max-ns"}

// recordJSON writes a record in its JSON form. Rows keep the record's order.
func recordJSON(w io.Writer, rec *record.Record, a *verdict.Analysis) error {
	out := jsonRecord{Version: 3, Machine: &rec.Machine, World: rec.Run.World, Seed: rec.Run.Seed, Partial: !rec.Run.Complete, Warnings: a.Warnings}
	if self := rec.Run.Self; self != nil {
		out.Duty = &self.Duty
		out.Self = &jsonSelf{self.PeakBytes, rec.Run.Elapsed.Seconds()}
	}
	rows := map[string]jsonRow{}
	for _, c := range a.Cases {
		if advice := verdict.Advise(c); advice != nil && picksOf(c) == nil {
			out.Answers = append(out.Answers, newJSONAnswer(c, advice))
		}
		for _, r := range c.Rows {
			rows[r.Row.Name] = newJSONRow(r)
		}
	}
	for i := range rec.Rows {
		out.Rows = append(out.Rows, rows[rec.Rows[i].Name])
	}
	return report.WriteJSON(w, out)
}

func newJSONAnswer(c *verdict.CaseResult, advice *verdict.Advice) jsonAnswer {
	ratio := func(r, to *verdict.Result) verdict.Comparison {
		x, _ := c.RatioOf(r, to)
		return verdict.Comparison{To: to.Row.Contender, Interval: x}
	}
	j := jsonAnswer{Case: c.Name, Use: advice.Use.Row.Contender, Sure: advice.Sure}
	if advice.Instead != nil {
		j.InsteadOf, j.Ratio = advice.Instead.Row.Contender, new(ratio(advice.Use, advice.Instead))
	}
	for _, r := range advice.Also {
		j.Also = append(j.Also, r.Row.Contender)
	}
	if r := advice.Departing; r != nil {
		j.Departs = &jsonDeparture{r.Row.Contender, ratio(r, advice.Use), r.Row.Properties[record.Departs]}
	}
	return j
}

func newJSONRow(r *verdict.Result) jsonRow {
	j := jsonRow{Row: r.Row, Result: r, Module: r.Row.Module, Metrics: map[string]*float64{}}
	if r.FloorRatio != nil {
		j.FloorRatio = &r.FloorRatio.Value
	}
	for _, unit := range commonMetrics {
		j.Metrics[unit] = nil
	}
	for unit, value := range r.Metrics {
		j.Metrics[unit] = &value
	}
	return j
}
