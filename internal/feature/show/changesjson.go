package show

import (
	"io"

	"postage/internal/kit/report"
	"postage/internal/verdict"
)

// The JSON of a comparison, version 3: docs/reference/json.md says what the fields mean.
type (
	ChangesForm struct {
		Version        int             `json:"version"`
		Outcome        verdict.Outcome `json:"outcome"`
		Recipe         *string         `json:"recipe"`
		Thresholds     thresholds      `json:"thresholds"`
		Unmatched      []unmatched     `json:"unmatched"`
		AcrossMachines bool            `json:"across_machines"`
		Warnings       []string        `json:"warnings"`
		Machines       machines        `json:"machines"`
		Rows           []change        `json:"rows"`
	}
	thresholds struct {
		Time         float64            `json:"time"`
		Allocs       float64            `json:"allocs"`
		Bytes        float64            `json:"bytes"`
		Size         float64            `json:"size"`
		Instructions float64            `json:"instructions"`
		Metrics      map[string]float64 `json:"metrics"`
	}
	unmatched struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	}
	machines struct {
		Old *Machine `json:"old"`
		New *Machine `json:"new"`
	}
	change struct {
		Name      string                 `json:"name"`
		Anchor    *string                `json:"anchor"`
		Ratio     verdict.Interval       `json:"ratio"`
		P         *float64               `json:"p_holm"`
		Seen      *float64               `json:"seen_ratio"`
		Threshold *float64               `json:"time_threshold"`
		Verdict   verdict.Verdict        `json:"verdict"`
		Time      verdict.Outcome        `json:"time_outcome"`
		Outcome   verdict.Outcome        `json:"outcome"`
		Counts    []count                `json:"counts"`
		Metrics   []verdict.MetricChange `json:"metrics"`
		OldNSOp   float64                `json:"old_ns_op"`
		NewNSOp   float64                `json:"new_ns_op"`
		OldBlocks int                    `json:"old_blocks"`
		NewBlocks int                    `json:"new_blocks"`
	}
	count struct {
		Metric  string          `json:"metric"`
		Unit    string          `json:"unit"`
		Old     float64         `json:"old"`
		New     float64         `json:"new"`
		Outcome verdict.Outcome `json:"outcome"`
	}
)

// ChangesJSON writes a comparison of two records in its JSON form.
func ChangesJSON(w io.Writer, c *verdict.Changes) error {
	limits := c.Limits
	out := ChangesForm{
		Version: 3, Outcome: c.Outcome(), Recipe: report.OrNull(c.Recipe()),
		Thresholds: thresholds{limits.Time, limits.Allocs, limits.Bytes, limits.Size, limits.Instructions, report.Map(limits.Metrics)},
		Unmatched:  []unmatched{}, AcrossMachines: c.AcrossMachines, Warnings: report.List(c.Warnings),
		Machines: machines{MachineOf(&c.Old.Machine), MachineOf(&c.New.Machine)}, Rows: []change{},
	}
	for _, u := range c.Unmatched {
		out.Unmatched = append(out.Unmatched, unmatched{u.Row, u.Reason})
	}
	for _, r := range c.Rows {
		row := change{
			Name: r.New.Row.Name, Anchor: report.OrNull(r.Anchor), Ratio: r.Ratio, P: report.Finite(r.P), Seen: report.Finite(r.Seen),
			Threshold: report.Finite(r.Threshold), Verdict: r.Verdict, Time: r.Time, Outcome: r.Outcome,
			Counts: []count{}, Metrics: report.List(r.Metrics), OldNSOp: r.Old.NSOp.Value, NewNSOp: r.New.NSOp.Value,
			OldBlocks: r.Old.Blocks, NewBlocks: r.New.Blocks,
		}
		for _, x := range r.Counts {
			row.Counts = append(row.Counts, count(x))
		}
		out.Rows = append(out.Rows, row)
	}
	return report.WriteJSON(w, out)
}
