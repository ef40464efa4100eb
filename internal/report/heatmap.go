package report

import (
	"math"
	"slices"

	"postage/record"
)

// heatMap is a table of contenders by messages, each cell the ratio to the case's baseline.
type heatMap struct {
	Title   string
	Columns []heatColumn
	Rows    []*heatRow
}

type heatColumn struct{ Title, ID string }

type heatRow struct {
	Contender string
	Cells     []heatCell // one a column
}

// heatCell is empty where nothing was measured. Class is "h" and the step, from m3 (far cheaper) to
// 3 (far dearer).
type heatCell struct{ Text, Class, Hint string }

// heatMaps makes a heat map of the cases that differ in their message alone.
func heatMaps(cases []*caseOfRun) []*heatMap {
	var maps []*heatMap
	for _, c := range cases {
		k := record.KeysOf(c.Name)
		message := k.Get(c.says.Message)
		if message == "" || c.Baseline == nil || c.Baseline.NSOp == nil {
			continue
		}
		title := record.StageOf(c.Name) + " " + k.Without(c.says.Message).Join(" ")
		if c.run != "" {
			title = c.run + ": " + title
		}
		at := slices.IndexFunc(maps, func(m *heatMap) bool { return m.Title == title })
		if at < 0 {
			at, maps = len(maps), append(maps, &heatMap{Title: title})
		}
		maps[at].add(message, c)
	}
	return slices.DeleteFunc(maps, func(m *heatMap) bool { return len(m.Columns) < 2 })
}

// add adds a column.
func (m *heatMap) add(message string, c *caseOfRun) {
	m.Columns = append(m.Columns, heatColumn{message, c.id})
	for _, r := range c.Ways() {
		if r.NSOp == nil {
			continue
		}
		at := slices.IndexFunc(m.Rows, func(row *heatRow) bool { return row.Contender == r.Row.Contender })
		if at < 0 {
			at, m.Rows = len(m.Rows), append(m.Rows, &heatRow{Contender: r.Row.Contender})
		}
		x := 1.0
		if r.Ratio != nil {
			x = r.Ratio.Value
		}
		m.Rows[at].fill(len(m.Columns) - 1)
		m.Rows[at].Cells = append(m.Rows[at].Cells, heatCell{ratio(x), "h" + step(x), duration(r.NSOp.Value)})
	}
	for _, row := range m.Rows {
		row.fill(len(m.Columns))
	}
}

// fill adds empty cells up to a number.
func (r *heatRow) fill(cells int) {
	for len(r.Cells) < cells {
		r.Cells = append(r.Cells, heatCell{})
	}
}

// step grades a ratio: 0 within 5% of 1, 1 within 2, 2 within 4, 3 beyond.
func step(x float64) string {
	size := math.Abs(math.Log(x))
	grade := "3"
	switch {
	case size < math.Log(1.05):
		return "0"
	case size < math.Log(2):
		grade = "1"
	case size < math.Log(4):
		grade = "2"
	}
	if x < 1 {
		return "m" + grade
	}
	return grade
}
