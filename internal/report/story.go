package report

import (
	"fmt"
	"slices"

	"charm.land/lipgloss/v2"

	"postage/internal/cost"
	"postage/internal/verdict"
	"postage/record"
)

// storyView is what a stage says of a case, and its bars as a page draws them.
type storyView struct {
	Case string
	cost.Story
	Tiles  []tile
	Height float64
}

// stories are those of the cases that have one, and of those of a stage in a record together.
func stories(cases []*caseOfRun) (all []storyView) {
	for i, c := range cases {
		sameStage := func(o *caseOfRun) bool { return o.Record == c.Record && o.Stage() == c.Stage() }
		if c.says.Together != nil && !slices.ContainsFunc(cases[:i], sameStage) {
			var together []*verdict.CaseResult
			for _, o := range cases[i:] {
				if sameStage(o) {
					together = append(together, o.CaseResult)
				}
			}
			if s := c.says.Together(together); len(s.Sentences) > 0 {
				all = append(all, newStory(record.StageOf(c.Name), s))
			}
		}
		if c.says.Says == nil {
			continue
		}
		if s := c.says.Says(c.Record, c.CaseResult); len(s.Sentences) > 0 {
			all = append(all, newStory(c.Name, s))
		}
	}
	return all
}

func newStory(name string, s cost.Story) storyView {
	view, longest, class := storyView{Case: name, Story: s}, 0.0, map[string]string{"": "k"}
	for _, bar := range s.Bars {
		longest = max(longest, bar.Long())
	}
	for _, bar := range s.Bars {
		view.Tiles = append(view.Tiles, tile{0, view.Height, profileWidth, "none", bar.Name, bar.Name})
		x := 0.0
		for _, part := range bar.Parts {
			if class[part.Name] == "" {
				class[part.Name] = fmt.Sprintf("k%d", len(class)-1)
			}
			width := part.Share / longest * profileWidth
			view.Tiles = append(view.Tiles, newTile(x, view.Height+tileHeight, width, class[part.Name], part.Name, part.Share))
			x += width
		}
		view.Height += 2.25 * tileHeight
	}
	return view
}

// stories prints them for a person, with the first bar of each.
func (d *doc) stories(all []storyView) {
	for _, s := range all {
		for i, line := range s.Sentences {
			if d.Markdown {
				d.printf("%s\n\n", plain(line))
				continue
			}
			d.lines(lipgloss.Style{}, "", line, "")
			if i == 0 && len(s.Bars) > 0 {
				d.printf("%s\n", barText(s.Bars[0]))
			}
		}
		if !d.Markdown {
			d.printf("\n")
		}
	}
}

// barText is a bar of a terminal's width. Each part begins with |, and has as much of its name as
// it has room for.
func barText(bar cost.Bar) string {
	line, long := "", 0.0
	for _, part := range bar.Parts {
		long += part.Share
		room := int(long/bar.Long()*(textWidth-1)+0.5) - len(line)
		if room > 0 {
			text := fmt.Sprintf("%s %.0f%%%*s", part.Name, 100*part.Share, room, "")
			line += "|" + text[:room-1]
		}
	}
	return line + "|"
}
