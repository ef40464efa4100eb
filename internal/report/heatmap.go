package report

import (
	"cmp"
	"math"
	"slices"

	"postage/record"
)

// heatMap is a table of contenders by messages (by cases, where these have no
// messages), each cell the ratio to the case's baseline.
type heatMap struct {
	Title   string
	Columns []heatColumn
	Rows    []heatRow
}

type heatColumn struct{ Title, ID string }

type heatRow struct {
	Contender string
	Cells     []heatCell
	mean      float64 // of the logarithms, over the measured cells
	measured  int
}

type heatCell struct {
	Text  string
	Class string // "h" and the step, from -3 (far faster) to 3 (far slower); "none"
	Hint  string
}

// heatMaps makes a heat map of the cases that differ in their message alone; of cases without
// messages, of those of a stage that are of one slice or begin with the same key. A map that is
// mostly gaps is left out.
func heatMaps(cases []*caseOfRun) []heatMap {
	var titles []string
	groups := map[string][]*caseOfRun{}
	columns := map[*caseOfRun]string{}
	for _, c := range cases {
		k := record.KeysOf(c.Name)
		stage := record.StageOf(c.Name)
		title := stage
		switch {
		case k.Get(c.says.Message) != "":
			title += " " + k.Without(c.says.Message).Join(" ")
			columns[c] = c.says.Message + "=" + k.Get(c.says.Message)
		case k.Get(c.says.Slice) != "":
			title += " " + c.says.Slice + "=" + k.Get(c.says.Slice)
			columns[c] = k.Without(c.says.Slice).Join(" ")
		case len(k) > 0:
			title += " by " + k[0].Name
			columns[c] = k.Join(" ")
		}
		if c.run != "" {
			title = c.run + ": " + title
		}
		if groups[title] == nil {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], c)
	}
	var maps []heatMap
	for _, title := range titles {
		if m := newHeatMap(title, groups[title], columns); len(m.Columns) > 1 && len(m.Rows) > 1 && m.filled() {
			maps = append(maps, m)
		}
	}
	return maps
}

// filled says whether at least half of the cells have figures.
func (m *heatMap) filled() bool {
	measured := 0
	for _, row := range m.Rows {
		measured += row.measured
	}
	return 2*measured >= len(m.Rows)*len(m.Columns)
}

func newHeatMap(title string, cases []*caseOfRun, columns map[*caseOfRun]string) heatMap {
	m := heatMap{Title: title}
	index := map[string]int{}
	for _, c := range cases {
		if c.Baseline == nil || c.Baseline.NSOp == nil {
			continue
		}
		m.Columns = append(m.Columns, heatColumn{columns[c], c.id})
		for _, r := range c.Ways() {
			if r.NSOp == nil {
				continue
			}
			name := r.Row.Contender
			if _, ok := index[name]; !ok {
				index[name] = len(m.Rows)
				m.Rows = append(m.Rows, heatRow{Contender: name})
			}
			row := &m.Rows[index[name]]
			for len(row.Cells) < len(m.Columns)-1 {
				row.Cells = append(row.Cells, heatCell{"", "none", ""})
			}
			x := 1.0
			if r.Ratio != nil {
				x = r.Ratio.Ratio
			}
			row.Cells = append(row.Cells, heatCell{ratio(x), "h" + step(x), duration(r.NSOp.Value)})
			row.mean += math.Log(x)
			row.measured++
		}
	}
	for i := range m.Rows {
		row := &m.Rows[i]
		row.mean /= float64(row.measured)
		for len(row.Cells) < len(m.Columns) {
			row.Cells = append(row.Cells, heatCell{"", "none", ""})
		}
	}
	slices.SortStableFunc(m.Rows, func(a, b heatRow) int { return cmp.Compare(a.mean, b.mean) })
	return m
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
