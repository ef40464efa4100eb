package show

import (
	"io"

	"postage/internal/report"
	"postage/internal/verdict"
	"postage/record"
)

// The JSON of a comparison, version 2.
type (
	jsonChanges struct {
		Version int             `json:"version"`
		Outcome verdict.Outcome `json:"outcome"`
		Recipe  string          `json:"recipe,omitempty"` // of an inconclusive one
		*verdict.Changes
		Machines struct {
			Old *record.Machine `json:"old"`
			New *record.Machine `json:"new"`
		} `json:"machines"`
		Rows []jsonChange `json:"rows"`
	}
	jsonChange struct {
		Name string `json:"name"`
		*verdict.Change
		OldNSOp        float64 `json:"old_ns_op"`
		NewNSOp        float64 `json:"new_ns_op"`
		OldBlocks      int     `json:"old_blocks"`
		NewBlocks      int     `json:"new_blocks"`
		Why            string  `json:"why"`
		AcrossMachines bool    `json:"across_machines"`
	}
)

// ChangesJSON writes a comparison of two records in its JSON form.
func ChangesJSON(w io.Writer, c *verdict.Changes) error {
	out := jsonChanges{Version: 2, Outcome: c.Outcome(), Recipe: c.Recipe(), Changes: c}
	out.Machines.Old, out.Machines.New = &c.Old.Machine, &c.New.Machine
	for _, r := range c.Rows {
		out.Rows = append(out.Rows, jsonChange{r.New.Row.Name, r, r.Old.NSOp.Value, r.New.NSOp.Value, r.Old.Blocks, r.New.Blocks, explain(c, r), c.AcrossMachines})
	}
	return report.WriteJSON(w, out)
}
