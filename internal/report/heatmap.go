package report

import (
	"math"
	"slices"

	"postage/internal/cost"
	"postage/record"
)

// heatMap is a table of contenders by messages, each cell the ratio to the case's baseline; or one
// that a stage makes of its cases, each a cell.
type heatMap struct {
	Title   string
	Corner  string // what the rows are
	Columns []heatColumn
	Rows    []*heatRow
}

type heatColumn struct{ Title, ID string }

type heatRow struct {
	Contender string
	Cells     []heatCell // one a column
}

// heatCell is empty where nothing was measured. Class is "h" and the step, from m3 (far cheaper) to
// 3 (far dearer). ID is of the case that the cell is.
type heatCell struct{ Text, Class, Hint, ID string }

// contenders are the rows of a map of messages.
const contenders = "contender"

// heatMaps makes a heat map of the cases that differ in their message alone, and those that stages
// make.
func heatMaps(cases []*caseOfRun) []*heatMap {
	var maps []*heatMap
	find := func(c *caseOfRun, title, corner string) *heatMap {
		if c.run != "" {
			title = c.run + ": " + title
		}
		at := slices.IndexFunc(maps, func(m *heatMap) bool { return m.Title == title })
		if at < 0 {
			at, maps = len(maps), append(maps, &heatMap{Title: title, Corner: corner})
		}
		return maps[at]
	}
	for _, c := range cases {
		if c.says.Map != nil {
			if cell := c.says.Map(c.CaseResult); cell != nil {
				find(c, cell.Map, "").place(c.id, cell)
				continue
			}
		}
		k := record.KeysOf(c.Name)
		message := k.Get(c.says.Message)
		if message == "" || c.Baseline == nil || c.Baseline.NSOp == nil {
			continue
		}
		find(c, record.StageOf(c.Name)+" "+k.Without(c.says.Message).Join(" "), contenders).add(message, c)
	}
	return slices.DeleteFunc(maps, func(m *heatMap) bool {
		return len(m.Columns) < 2 && (m.Corner == contenders || len(m.Rows) < 2)
	})
}

// place puts a case's cell where it belongs.
func (m *heatMap) place(id string, cell *cost.Cell) {
	column := slices.IndexFunc(m.Columns, func(c heatColumn) bool { return c.Title == cell.Column })
	if column < 0 {
		column, m.Columns = len(m.Columns), append(m.Columns, heatColumn{Title: cell.Column})
	}
	row := m.row(cell.Row)
	for _, r := range m.Rows {
		r.fill(len(m.Columns))
	}
	class := "h0"
	if cell.Ratio != 0 {
		class = "h" + step(cell.Ratio)
	}
	row.Cells[column] = heatCell{cell.Text, class, cell.Hint, id}
}

// row is the one of that name, which is made if it has to be.
func (m *heatMap) row(name string) *heatRow {
	at := slices.IndexFunc(m.Rows, func(row *heatRow) bool { return row.Contender == name })
	if at < 0 {
		at, m.Rows = len(m.Rows), append(m.Rows, &heatRow{Contender: name})
	}
	return m.Rows[at]
}

// add adds a column.
func (m *heatMap) add(message string, c *caseOfRun) {
	m.Columns = append(m.Columns, heatColumn{message, c.id})
	for _, r := range c.Ways() {
		if r.NSOp == nil {
			continue
		}
		x := 1.0
		if r.Ratio != nil {
			x = r.Ratio.Value
		}
		row := m.row(r.Row.Contender)
		row.fill(len(m.Columns) - 1)
		row.Cells = append(row.Cells, heatCell{ratio(x), "h" + step(x), duration(r.NSOp.Value), ""})
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
