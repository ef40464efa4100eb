package verdict

import (
	"math"
	"testing"

	"postage/record"
)

// Of a row with too few blocks for an interval nothing is said by wall time.
func TestNoDisagreementWithoutAnInterval(t *testing.T) {
	wall := Comparison{Interval: Interval{Value: 0.2, High: math.Inf(1)}}
	c := &CaseResult{Name: "c", Rows: []*Result{{Row: &record.Row{Role: record.RoleContender}, Wall: &wall}}}
	if said := c.disagreement(); said != "" {
		t.Error(said)
	}
}
