package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// Form is how a result is printed. The zero Form is for a terminal of 80 columns.
type Form struct {
	JSON, Markdown bool
	// Wide keeps all columns of a table, however wide it gets. Color uses ANSI escape sequences.
	Wide, Color bool
}

// TextWidth is how many columns a terminal's text has.
const TextWidth = 80

// Doc is a text for a person: for a terminal, or Markdown as GitHub shows it.
type Doc struct {
	strings.Builder
	Form
}

// The styles of a terminal's text.
var (
	Bold   = lipgloss.NewStyle().Bold(true)
	Dim    = lipgloss.NewStyle().Faint(true)
	Green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	Red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	Yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

// Printf adds text as it is.
func (d *Doc) Printf(format string, a ...any) { fmt.Fprintf(d, format, a...) }

// Paint styles a text, if there are colours.
func (d *Doc) Paint(style lipgloss.Style, s string) string {
	if !d.Color || s == "" {
		return s
	}
	return style.Render(s)
}

// Print writes the text.
func (d *Doc) Print(w io.Writer) error {
	_, err := io.WriteString(w, d.String())
	return err
}

// wrapped breaks a text into lines. All but the first begin with hang.
func (d *Doc) wrapped(s, hang string) (lines []string) {
	for !d.Wide && utf8.RuneCountInString(s) > TextWidth {
		head := string([]rune(s)[:TextWidth+1])
		at := strings.LastIndexByte(head, ' ')
		if at <= len(hang) { // a name that is longer than a line
			at = strings.LastIndexByte(head[:len(head)-1], '/') + 1
		}
		if at <= len(hang) {
			break
		}
		lines = append(lines, strings.TrimRight(s[:at], " "))
		s = hang + strings.TrimLeft(s[at:], " ")
	}
	return append(lines, s)
}

// Lines writes a terminal's text. The style is for first, or for the whole text if first is "".
func (d *Doc) Lines(style lipgloss.Style, first, s, hang string) {
	for i, line := range d.wrapped(first+s, hang) {
		if i == 0 && first != "" && strings.HasPrefix(line, first) {
			d.Printf("%s%s\n", d.Paint(style, first), strings.TrimPrefix(line, first))
		} else if first == "" {
			d.Printf("%s\n", d.Paint(style, line))
		} else {
			d.Printf("%s\n", line)
		}
	}
}

// Title writes a heading.
func (d *Doc) Title(s string) {
	if d.Markdown {
		d.Printf("### %s\n\n", Escape(s))
		return
	}
	d.Lines(Bold, "", s, "  ")
}

// Paragraph writes lines of text, and an empty line if there are any. In Markdown each line begins
// with item.
func (d *Doc) Paragraph(item string, lines ...string) {
	for _, line := range lines {
		if d.Markdown {
			d.Printf("%s%s\n", item, Escape(line))
		} else {
			d.Lines(lipgloss.Style{}, "", line, "")
		}
	}
	if len(lines) > 0 {
		d.Printf("\n")
	}
}

// Item writes a line about something that has a name.
func (d *Doc) Item(name, text string) {
	if d.Markdown {
		d.Printf("- %s: %s\n", Code(name), Escape(text))
		return
	}
	d.Lines(lipgloss.Style{}, "", name+"  "+text, "    ")
}

// Marked writes lines such as "warning: ...".
func (d *Doc) Marked(mark string, lines ...string) {
	for _, line := range lines {
		if d.Markdown {
			d.Printf("> **%s** %s\n>\n", mark, Escape(line))
		} else {
			d.Lines(Yellow, mark, " "+line, "  ")
		}
	}
}

// Folded writes a part with a heading. In Markdown a click on the heading unfolds it.
func (d *Doc) Folded(heading string, write func()) {
	if !d.Markdown {
		d.Printf("\n%s\n", heading)
		write()
		return
	}
	d.Printf("\n<details><summary>%s</summary>\n\n", Escape(heading))
	write()
	d.Printf("\n</details>\n")
}

// Note writes a footnote, such as how a table was measured.
func (d *Doc) Note(s string) {
	switch {
	case s == "":
	case d.Markdown:
		d.Printf("> %s\n", Escape(s))
	default:
		d.Lines(Dim, "", s, "  ")
	}
}

// Column is a column of a table. The first column has the rows' names.
type Column[T any] struct {
	Title string
	Left  bool
	Alike bool // its texts may be alike when they are shortened
	Text  func(T) string
	keep  Keep
}

// Keep says when a table of 80 columns has a column: always; unless even shortened names leave no
// room; if there is room beside whole names; or never.
type Keep int

const (
	Always Keep = iota
	Lastly
	IfRoom
	IfWide
)

// nameLength is how short a name may get.
const nameLength = 12

// Figures makes a column of numbers.
func Figures[T any](title string, text func(T) string) Column[T] {
	return Column[T]{Title: title, Text: text}
}

// Texts makes a column of words.
func Texts[T any](title string, text func(T) string) Column[T] {
	return Column[T]{Title: title, Text: text, Left: true}
}

// When makes the column one that a table of 80 columns has only then.
func (c Column[T]) When(k Keep) Column[T] {
	c.keep = k
	return c
}

// Table writes rows. For a terminal, paint colours their texts.
func Table[T any](d *Doc, columns []Column[T], rows []T, paint func(row T, text string) string) {
	if d.Markdown {
		markdownRows(&d.Builder, columns, rows)
	}
	if d.Markdown || len(rows) == 0 {
		return
	}
	if !d.Wide {
		columns = slices.DeleteFunc(slices.Clone(columns), func(c Column[T]) bool { return c.keep == IfWide })
	}
	cells := Cells(columns, rows)
	if !d.Wide {
		columns = fit(columns, cells, TextWidth)
	}
	widths := widthsOf(cells)
	for i, line := range cells {
		text := ""
		for j, cell := range line {
			room := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				cell = d.Paint(Dim, cell)
			case paint != nil:
				cell = paint(rows[i-1], cell)
			}
			if columns[j].Left {
				text += cell + room + "  "
			} else {
				text += room + cell + "  "
			}
		}
		d.Printf("%s\n", strings.TrimRight(text, " "))
	}
}

// fit makes a table fit: it drops columns that need not be there, the last first, and shortens
// names so that they still differ. It returns the columns that are left.
func fit[T any](columns []Column[T], cells [][]string, most int) []Column[T] {
	excess := func() int {
		sum := -2
		for _, w := range widthsOf(cells) {
			sum += w + 2
		}
		return sum - most
	}
	drop := func(level Keep) bool { // the last of a level, if there is one
		for i := len(columns) - 1; i > 0; i-- {
			if columns[i].keep == level {
				columns = slices.Delete(columns, i, i+1)
				for j := range cells {
					cells[j] = slices.Delete(cells[j], i, i+1)
				}
				return true
			}
		}
		return false
	}
	for excess() > 0 && drop(IfRoom) {
	}
	if excess() <= 0 {
		return columns
	}
	names := 0 // the widest column of texts
	for i, w := range widthsOf(cells) {
		if columns[i].Left && w > widthsOf(cells)[names] {
			names = i
		}
	}
	rename(cells, names, columns[names].Alike, Values)
	for excess() > 0 && !squeeze(columns, cells, excess()) && drop(Lastly) {
	}
	return columns
}

// squeeze makes a table narrower by that much: it shortens the longest texts in all columns. It
// leaves a column alone whose texts would no longer differ, and says whether there was none.
func squeeze[T any](columns []Column[T], cells [][]string, by int) bool {
	widths := widthsOf(cells)
	for length := slices.Max(widths); length >= nameLength; length-- {
		saved := 0
		for i, w := range widths {
			if columns[i].Left {
				saved += max(0, w-length)
			}
		}
		if saved < by {
			continue
		}
		whole := true
		for i, w := range widths {
			if columns[i].Left && w > length {
				whole = rename(cells, i, columns[i].Alike, func(name string) string { return middle(name, length) }) && whole
			}
		}
		return whole
	}
	return false
}

// rename changes the names in a column, if they still differ or may be alike.
func rename(cells [][]string, column int, alike bool, to func(string) string) bool {
	before, after := map[string]bool{}, map[string]bool{}
	for _, line := range cells[1:] {
		before[line[column]], after[to(line[column])] = true, true
	}
	if len(before) > len(after) && !alike {
		return false
	}
	for _, line := range cells {
		line[column] = to(line[column])
	}
	return true
}

// Values drops the keys from a name of key=value parts. A value that says nothing alone keeps its
// key: "session/as=parts" becomes "session/parts", and "json/reuse=no" stays.
func Values(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if _, value, ok := strings.Cut(part, "="); ok && value != "" && value != "yes" && value != "no" && value != "on" && value != "off" {
			parts[i] = value
		}
	}
	return strings.Join(parts, "/")
}

func widthsOf(cells [][]string) (widths []int) {
	for i := range cells[0] {
		widths = append(widths, 0)
		for _, line := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	return widths
}

// middle shortens a name that is longer than length, in its middle.
func middle(name string, length int) string {
	runes := []rune(name)
	if len(runes) <= length {
		return name
	}
	tail := length / 2
	return string(runes[:length-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// Cells returns the titles of columns, then the texts of rows.
func Cells[T any](columns []Column[T], rows []T) [][]string {
	cells := make([][]string, 1+len(rows))
	for _, c := range columns {
		cells[0] = append(cells[0], c.Title)
		for i, row := range rows {
			cells[1+i] = append(cells[1+i], c.Text(row))
		}
	}
	return cells
}
