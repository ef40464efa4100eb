package report

// A tile is a rectangle of a page's bar or flame graph, in the units of its SVG.
type Tile struct {
	X, Y, Width        float64
	Class, Name, Title string
}

const (
	TilesWidth  = 1000
	TileHeight  = 22
	letterWidth = 7.2 // about
)

// Labelled has as much of the tile's name on it as it has room for.
func Labelled(t Tile) Tile {
	if most := int(t.Width / letterWidth); most < 4 {
		t.Name = ""
	} else {
		t.Name = Middle(t.Name, most)
	}
	return t
}
