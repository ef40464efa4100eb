package report

import (
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"postage/internal/verdict"
)

// flame is where an operation's instructions are, old and new: a bar a function, its callees on it,
// as wide as the side that executed more.
type flame struct {
	Name, Line string
	Height     int
	Bars       []flameBar
}

type flameBar struct {
	Class, Title, Text string
	X, Y, Width        float64
}

// The layout of a flame graph, in the units of its SVG.
const (
	flameWidth, flameRow = 960.0, 20
	flameLeast           = 1.0 // a narrower bar is left out, and what is on it
	flameLetter          = 6.5
)

// flameNode is a function on a way of calls.
type flameNode struct {
	name     string
	old, now float64 // with what it calls
	wide     float64
	calls    []*flameNode
}

func (n *flameNode) call(name string) *flameNode {
	if i := slices.IndexFunc(n.calls, func(c *flameNode) bool { return c.name == name }); i >= 0 {
		return n.calls[i]
	}
	c := &flameNode{name: name}
	n.calls = append(n.calls, c)
	return c
}

// newFlame draws a benchmark whose counts moved.
func newFlame(c *verdict.Counted) flame {
	root, deepest := &flameNode{}, 0
	for _, s := range c.Stacks {
		way := strings.Split(s.Function, ";")
		deepest = max(deepest, len(way))
		for n := root; ; way = way[1:] {
			n.old, n.now, n.wide = n.old+s.Old, n.now+s.New, n.wide+max(s.Old, s.New)
			if len(way) == 0 {
				break
			}
			n = n.call(way[0])
		}
	}
	f := flame{Name: benchmarkName(c.Case), Height: flameRow * (deepest + 1)}
	f.Line = fromTo(c.Old.Instructions, c.New.Instructions) + " instructions an operation: " + string(c.Outcome)
	f.draw(root, 0, flameWidth/max(1, root.wide), 1, c.Old.Instructions)
	return f
}

// draw adds the bars of what a function calls, the widest first.
func (f *flame) draw(n *flameNode, x, scale float64, depth int, whole float64) {
	slices.SortStableFunc(n.calls, func(a, b *flameNode) int { return int(math.Copysign(1, b.wide-a.wide)) })
	for _, c := range n.calls {
		b := flameBar{Class: "alike", X: math.Round(x), Width: math.Round(c.wide * scale), Y: float64(f.Height - flameRow*depth)}
		if b.Width < flameLeast {
			continue
		}
		switch moved := (c.now - c.old) / whole; {
		case moved > 0.001:
			b.Class = "more"
		case moved < -0.001:
			b.Class = "fewer"
		}
		b.Title = c.name + ": " + grouped(c.old) + " → " + grouped(c.now) + " instructions an operation"
		if letters := int(b.Width / flameLetter); letters >= len(c.name) {
			b.Text = c.name
		} else if at := strings.LastIndexByte(c.name, '/') + 1; letters > 3 {
			b.Text = c.name[at:min(len(c.name), at+letters)]
		}
		f.Bars = append(f.Bars, b)
		f.draw(c, x, scale, depth+1, whole)
		x += c.wide * scale
	}
}

// CountsHTML writes a page that shows in which functions, by the way that leads there, the
// benchmarks that changed did. It is self-contained: no network, no scripts.
func CountsHTML(w io.Writer, run *verdict.CountedRun) error {
	t, err := template.ParseFS(pageFiles, "page/counts.gohtml")
	if err != nil {
		return err
	}
	p := struct {
		Style         template.CSS
		Outcome, What string
		Flames        []flame
	}{Outcome: string(run.Outcome), What: verdict.NotTime}
	style, err := pageFiles.ReadFile("page/page.css")
	p.Style = template.CSS(style)
	for i := range run.Rows {
		if one := &run.Rows[i]; len(one.Stacks) > 0 {
			p.Flames = append(p.Flames, newFlame(one))
		}
	}
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}
