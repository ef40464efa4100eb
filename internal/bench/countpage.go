package bench

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"postage/internal/report"
	"postage/internal/verdict"
)

// A flameNode is a function on a way of calls, with what it calls: how many instructions are there
// in the old code, and in the new.
type flameNode struct {
	name     string
	old, now float64
	width    float64 // by the side that executed more
	calls    []*flameNode
}

// thinnest is the narrowest tile that is drawn, in the units of the SVG.
const thinnest = 1.0

func (n *flameNode) add(way string, of verdict.CountedFunction) (deepest int) {
	n.old, n.now, n.width = n.old+of.Old, n.now+of.New, n.width+max(of.Old, of.New)
	if way == "" {
		return 0
	}
	name, rest, _ := strings.Cut(way, ";")
	i := slices.IndexFunc(n.calls, func(c *flameNode) bool { return c.name == name })
	if i < 0 {
		i, n.calls = len(n.calls), append(n.calls, &flameNode{name: name})
	}
	return 1 + n.calls[i].add(rest, of)
}

// tiles are those of what the function calls, the widest first.
func (n *flameNode) tiles(tiles []report.Tile, x, scale float64, depth int, whole float64) []report.Tile {
	slices.SortStableFunc(n.calls, func(a, b *flameNode) int { return cmp.Compare(b.width, a.width) })
	for _, c := range n.calls {
		width, class := c.width*scale, "other"
		if width < thinnest {
			break // as are those that follow
		}
		switch moved := (c.now - c.old) / whole; {
		case moved > 0.001:
			class = "slower"
		case moved < -0.001:
			class = "faster"
		}
		title := c.name + ": " + report.Grouped(c.old) + " → " + report.Grouped(c.now) + " instructions an operation"
		tiles = append(tiles, report.Labelled(report.Tile{X: x, Y: float64(depth * report.TileHeight), Width: width, Class: class, Name: c.name[strings.LastIndexByte(c.name, '/')+1:], Title: title}))
		tiles = c.tiles(tiles, x, scale, depth+1, whole)
		x += width
	}
	return tiles
}

// countedFlame is where the instructions of a benchmark are that moved.
type countedFlame struct {
	Name, Line string
	Height     int
	Tiles      []report.Tile
}

var (
	//go:embed page/counts.gohtml
	flamesText string
	//go:embed page/counts.css
	flamesCSS string
)

// CountsHTML writes a page that shows in which functions, by the way that leads there, the
// benchmarks that changed did. It is self-contained: no network, no scripts.
func CountsHTML(w io.Writer, run *verdict.CountedRun) error {
	p := struct {
		Outcome, What string
		Flames        []countedFlame
	}{Outcome: string(run.Outcome), What: verdict.NotTime}
	for i := range run.Rows {
		c := &run.Rows[i]
		if len(c.Stacks) == 0 {
			continue
		}
		root, deepest := &flameNode{}, 0
		for _, s := range c.Stacks {
			deepest = max(deepest, root.add(s.Function, s))
		}
		p.Flames = append(p.Flames, countedFlame{
			Name: benchmarkName(c.Case), Line: report.FromTo(c.Old.Instructions, c.New.Instructions) + " instructions an operation: " + string(c.Outcome),
			Height: deepest * report.TileHeight, Tiles: root.tiles(nil, 0, report.TilesWidth/max(1, root.width), 0, c.Old.Instructions),
		})
	}
	body, err := report.Fragment(flamesText, nil, p)
	if err != nil {
		return err
	}
	return report.Page{Title: "instructions", Command: "bench --count", Style: template.CSS(flamesCSS), Body: body}.Write(w)
}
