package report

import (
	"io"

	"postage/internal/stats"
	"postage/internal/verdict"
)

// The JSON form of a comparison, version 2: a stable interface. What is not known is
// null, such as the bounds of an interval that there are too few blocks for.
type (
	jsonChanges struct {
		Version        int             `json:"version"`
		Outcome        verdict.Outcome `json:"outcome"`
		Recipe         *string         `json:"recipe"` // of an inconclusive one
		AcrossMachines bool            `json:"across_machines"`
		Machines       jsonMachines    `json:"machines"`
		Thresholds     jsonThresholds  `json:"thresholds"`
		Rows           []jsonChange    `json:"rows"`
		Unmatched      []jsonUnmatched `json:"unmatched"`
		Warnings       []string        `json:"warnings"`
	}
	jsonMachines struct {
		Old jsonMachine `json:"old"`
		New jsonMachine `json:"new"`
	}
	jsonThresholds struct {
		Time   float64 `json:"time"`
		Allocs float64 `json:"allocs"`
		Bytes  float64 `json:"bytes"`
		Size   float64 `json:"size"`
		Instr  float64 `json:"instructions"`
	}
	jsonChange struct {
		Name           string          `json:"name"`
		Outcome        verdict.Outcome `json:"outcome"`
		TimeOutcome    verdict.Outcome `json:"time_outcome"`
		Verdict        stats.Verdict   `json:"verdict"`
		Ratio          jsonValue       `json:"ratio"` // new/old
		Anchor         *string         `json:"anchor"`
		P              float64         `json:"p_holm"`
		Seen           *float64        `json:"seen_ratio"`
		Threshold      *float64        `json:"time_threshold"`
		Spread         *float64        `json:"layout_spread"`
		OldNSOp        float64         `json:"old_ns_op"`
		NewNSOp        float64         `json:"new_ns_op"`
		OldBlocks      int             `json:"old_blocks"`
		NewBlocks      int             `json:"new_blocks"`
		Counts         []jsonCount     `json:"counts"`
		Metrics        []jsonMetric    `json:"metrics"`
		Why            string          `json:"why"`
		AcrossMachines bool            `json:"across_machines"`
	}
	jsonCount struct {
		Metric  string          `json:"metric"`
		Unit    string          `json:"unit"`
		Old     float64         `json:"old"`
		New     float64         `json:"new"`
		Outcome verdict.Outcome `json:"outcome"`
	}
	jsonMetric struct {
		Unit    string                `json:"unit"`
		Old     float64               `json:"old"`
		New     float64               `json:"new"`
		Ratio   *jsonValue            `json:"ratio"` // new/old
		P       float64               `json:"p_holm"`
		Verdict verdict.MetricVerdict `json:"verdict"`
	}
	jsonUnmatched struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	}
)

// changesJSON writes a comparison of two records in its JSON form.
func changesJSON(w io.Writer, c *verdict.Changes) error {
	out := jsonChanges{
		Version: 2, Outcome: c.Outcome(), Recipe: orNull(c.Recipe()), AcrossMachines: c.AcrossMachines,
		Machines:   jsonMachines{newJSONMachine(&c.Old.Machine), newJSONMachine(&c.New.Machine)},
		Thresholds: jsonThresholds{c.Limits.Time, c.Limits.Allocs, c.Limits.Bytes, c.Limits.Size, c.Limits.Instructions},
		Rows:       []jsonChange{}, Unmatched: []jsonUnmatched{}, Warnings: orEmpty(c.Warnings),
	}
	metrics := c.Metrics()
	for i := range c.Rows {
		r := &c.Rows[i]
		row := jsonChange{
			Name: r.New.Row.Name, Outcome: r.Outcome, TimeOutcome: r.Time, Verdict: r.Verdict,
			Ratio: *newJSONValue(&r.Ratio), Anchor: orNull(r.Anchor), P: r.P,
			OldNSOp: r.Old.NSOp.Value, NewNSOp: r.New.NSOp.Value, OldBlocks: r.Old.Blocks, NewBlocks: r.New.Blocks,
			Counts: []jsonCount{}, Metrics: []jsonMetric{}, Why: explain(c, r), AcrossMachines: c.AcrossMachines,
		}
		if c.Paired {
			row.Seen, row.Threshold, row.Spread = finite(r.Seen), &r.Threshold, r.Spread
		}
		for _, count := range r.Counts {
			row.Counts = append(row.Counts, jsonCount(count))
		}
		for _, m := range metrics[r] {
			one := jsonMetric{Unit: m.Unit, Old: m.Old, New: m.New, P: m.P, Verdict: m.Verdict}
			if m.Ratio != nil {
				one.Ratio = newJSONValue(m.Ratio)
			}
			row.Metrics = append(row.Metrics, one)
		}
		out.Rows = append(out.Rows, row)
	}
	for _, u := range c.Unmatched {
		out.Unmatched = append(out.Unmatched, jsonUnmatched{u.Row, u.Reason})
	}
	return writeJSON(w, out)
}
