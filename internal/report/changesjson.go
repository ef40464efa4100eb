package report

import (
	"io"

	"postage/internal/verdict"
	"postage/record"
)

// The JSON of a comparison, version 2.
type (
	jsonChanges struct {
		Version        int                 `json:"version"`
		Outcome        verdict.Outcome     `json:"outcome"`
		Recipe         string              `json:"recipe,omitempty"` // of an inconclusive one
		AcrossMachines bool                `json:"across_machines"`
		Machines       jsonMachines        `json:"machines"`
		Thresholds     verdict.Thresholds  `json:"thresholds"`
		Rows           []jsonChange        `json:"rows"`
		Unmatched      []verdict.Unmatched `json:"unmatched"`
		Warnings       []string            `json:"warnings"`
	}
	jsonMachines struct {
		Old *record.Machine `json:"old"`
		New *record.Machine `json:"new"`
	}
	jsonChange struct {
		Name string `json:"name"`
		*verdict.Change
		Seen           *float64               `json:"seen_ratio"`
		Threshold      *float64               `json:"time_threshold"`
		Spread         *float64               `json:"layout_spread"`
		OldNSOp        float64                `json:"old_ns_op"`
		NewNSOp        float64                `json:"new_ns_op"`
		OldBlocks      int                    `json:"old_blocks"`
		NewBlocks      int                    `json:"new_blocks"`
		Metrics        []verdict.MetricChange `json:"metrics"`
		Why            string                 `json:"why"`
		AcrossMachines bool                   `json:"across_machines"`
	}
)

// changesJSON writes a comparison of two records in its JSON form.
func changesJSON(w io.Writer, c *verdict.Changes) error {
	out := jsonChanges{Version: 2, Outcome: c.Outcome(), Recipe: c.Recipe(), AcrossMachines: c.AcrossMachines,
		Machines: jsonMachines{&c.Old.Machine, &c.New.Machine}, Thresholds: c.Limits, Unmatched: c.Unmatched, Warnings: c.Warnings}
	metrics := c.Metrics()
	for i := range c.Rows {
		r := &c.Rows[i]
		row := jsonChange{Name: r.New.Row.Name, Change: r, OldNSOp: r.Old.NSOp.Value, NewNSOp: r.New.NSOp.Value,
			OldBlocks: r.Old.Blocks, NewBlocks: r.New.Blocks, Metrics: metrics[r], Why: explain(c, r), AcrossMachines: c.AcrossMachines}
		if c.Paired {
			row.Seen, row.Threshold, row.Spread = &r.Seen, &r.Threshold, r.Spread
		}
		out.Rows = append(out.Rows, row)
	}
	return writeJSON(w, out)
}
