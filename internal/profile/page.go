package profile

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"strings"

	"postage/internal/report"
	"postage/internal/verdict"
)

// A tile is a rectangle of a page's bar or flame graph, in the units of its SVG.
type tile struct {
	X, Y, Width        float64
	Class, Name, Title string
}

const (
	profileWidth = 1000
	tileHeight   = 22
	letterWidth  = 7.2 // about
)

// labelled has as much of the tile's name on it as it has room for.
func labelled(t tile) tile {
	if most := int(t.Width / letterWidth); most < 4 {
		t.Name = ""
	} else {
		t.Name = report.Middle(t.Name, most)
	}
	return t
}

// A pageTable has its titles in the first row.
type pageTable struct {
	Title string
	Cells [][]string
}

var (
	//go:embed page/page.gohtml
	profileText string
	//go:embed page/page.css
	profileCSS string
)

// HTML writes a page: a bar of the CPU time by stage, the tables, and a flame graph folded
// to owners. It is self-contained: no network, no scripts.
func HTML(w io.Writer, s *Summary) error {
	sites := worthy(s)
	savings, _ := savingsOf(s, sites)
	v := struct {
		Head, Rest string
		Bar, Flame []tile
		Height     float64
		Tables     []pageTable
		Checks     []string
	}{Head: profileHeadline(s), Rest: strings.Join(append([]string{profileRest(s)}, unpredicted(sites)...), " "), Bar: profileBar(s), Checks: checks(sites)}
	v.Tables = []pageTable{{"Where", report.Cells(siteColumns(), sites)}}
	if len(savings) > 0 {
		v.Tables = append(v.Tables, pageTable{"What a change would save of all CPU time", report.Cells(savingColumns(), savings)})
	}
	v.Flame = flameTiles(nil, s.Flame, 0, 0, &v.Height)
	body, err := report.Fragment(profileText, nil, v)
	if err != nil {
		return err
	}
	return report.Page{Title: "profile", Command: "profile", Style: template.CSS(profileCSS), Body: body}.Write(w)
}

// profileBar is all CPU time by stage.
func profileBar(s *Summary) (tiles []tile) {
	x := 0.0
	add := func(name, class string, share float64) {
		if width := share * profileWidth; width > 0 {
			tiles = append(tiles, newTile(x, 0, width, class, name, share))
			x += width
		}
	}
	for _, stage := range []string{"encode", "seal", "send", "store", "apply"} {
		sum := 0.0
		for _, p := range s.Parts {
			if p.Stage == stage {
				sum += p.Share.Value
			}
		}
		add(stage, stage, sum)
	}
	for _, p := range []struct {
		name  string
		share verdict.Interval
	}{{"garbage", s.Garbage}, {"own", s.Own}, {"other libraries", s.Others}, {"runtime", s.Runtime}, {"not attributed", s.Unknown}} {
		class, _, _ := strings.Cut(p.name, " ")
		add(p.name, class, p.share.Value)
	}
	return tiles
}

func newTile(x, y, width float64, class, name string, share float64) tile {
	return labelled(tile{X: x, Y: y, Width: width, Class: class, Name: name, Title: name + ", " + tenths(share)})
}

// flameTiles adds a node's tile and those of what it calls, and finds how high they are.
func flameTiles(tiles []tile, f *Flame, x float64, depth int, height *float64) []tile {
	y, class := float64(depth*tileHeight), cmp.Or(f.Stage, "own")
	*height = max(*height, y+tileHeight)
	tiles = append(tiles, newTile(x, y, f.Share*profileWidth, class, f.Name[strings.LastIndexByte(f.Name, '/')+1:], f.Share))
	for _, one := range f.Calls {
		tiles = flameTiles(tiles, one, x, depth+1, height)
		x += one.Share * profileWidth
	}
	return tiles
}
