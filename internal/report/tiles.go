package report

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

// titled has as much of the tile's name on it as it has room for.
func titled(t tile) tile {
	if most := int(t.Width / letterWidth); most < 4 {
		t.Name = ""
	} else {
		t.Name = middle(t.Name, most)
	}
	return t
}
