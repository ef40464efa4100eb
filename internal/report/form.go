package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// Form is how a result is printed: for a terminal of 80 columns, unless it says otherwise.
type Form struct {
	JSON, Markdown bool
	// Wide is a terminal's table with all columns, however wide. Color has it use ANSI escape
	// sequences.
	Wide, Color bool
}

// textWidth is how many columns a terminal's text has.
const textWidth = 80

// doc is a text for a person: of a terminal, or Markdown as GitHub shows it.
type doc struct {
	strings.Builder
	Form
}

var (
	bold   = lipgloss.NewStyle().Bold(true)
	dim    = lipgloss.NewStyle().Faint(true)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

func (d *doc) printf(format string, a ...any) { fmt.Fprintf(d, format, a...) }

func (d *doc) paint(style lipgloss.Style, s string) string {
	if !d.Color || s == "" {
		return s
	}
	return style.Render(s)
}

// writeTo ends the text.
func (d *doc) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, d.String())
	return err
}

// wrapped are the lines of a text. Those after the first begin with hang.
func (d *doc) wrapped(s, hang string) (lines []string) {
	for !d.Wide && utf8.RuneCountInString(s) > textWidth {
		head := string([]rune(s)[:textWidth+1])
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

// lines writes a terminal's text, whose first word, if it is given, has a style of its own.
func (d *doc) lines(style lipgloss.Style, first, s, hang string) {
	for i, line := range d.wrapped(first+s, hang) {
		if i == 0 && first != "" && strings.HasPrefix(line, first) {
			d.printf("%s%s\n", d.paint(style, first), strings.TrimPrefix(line, first))
		} else if first == "" {
			d.printf("%s\n", d.paint(style, line))
		} else {
			d.printf("%s\n", line)
		}
	}
}

// title says in a line what comes below it.
func (d *doc) title(s string) {
	if d.Markdown {
		d.printf("### %s\n\n", plain(s))
		return
	}
	d.lines(bold, "", s, "  ")
}

// paragraph is some lines of text, none if there are none. An item of Markdown is a line of a list.
func (d *doc) paragraph(item string, lines ...string) {
	for _, line := range lines {
		if d.Markdown {
			d.printf("%s%s\n", item, plain(line))
		} else {
			d.lines(lipgloss.Style{}, "", line, "")
		}
	}
	if len(lines) > 0 {
		d.printf("\n")
	}
}

// item is a line about something that has a name.
func (d *doc) item(name, text string) {
	if d.Markdown {
		d.printf("- %s: %s\n", code(name), plain(text))
		return
	}
	d.lines(lipgloss.Style{}, "", name+"  "+text, "    ")
}

// marked are lines such as "warning: ...".
func (d *doc) marked(mark string, lines ...string) {
	for _, line := range lines {
		if d.Markdown {
			d.printf("> **%s** %s\n>\n", mark, plain(line))
		} else {
			d.lines(yellow, mark, " "+line, "  ")
		}
	}
}

// folded is what is below a heading; in Markdown it is shown when that is clicked.
func (d *doc) folded(heading string, write func()) {
	if !d.Markdown {
		d.printf("\n%s\n", heading)
		write()
		return
	}
	d.printf("\n<details><summary>%s</summary>\n\n", plain(heading))
	write()
	d.printf("\n</details>\n")
}

// note is what stands below, such as how it was measured.
func (d *doc) note(s string) {
	switch {
	case s == "":
	case d.Markdown:
		d.printf("> %s\n", plain(s))
	default:
		d.lines(dim, "", s, "  ")
	}
}

// column is a column of a table of rows of a kind. The first one has their names.
type column[T any] struct {
	title string
	left  bool
	alike bool // its texts may be alike when they are shortened
	text  func(T) string
	keep  kept
}

// kept says when a column is part of a table of 80 columns: always, unless names that are shortened
// take too much room, if there is room beside whole names, or never.
type kept int

const (
	always kept = iota
	lastly
	ifRoom
	ifWide
)

// nameLength is what names are shortened to at the least.
const nameLength = 12

func figures[T any](title string, text func(T) string) column[T] {
	return column[T]{title: title, text: text}
}

func texts[T any](title string, text func(T) string) column[T] {
	return column[T]{title: title, text: text, left: true}
}

func (c column[T]) when(k kept) column[T] {
	c.keep = k
	return c
}

// table prints rows, in a terminal with their texts coloured by paint.
func table[T any](d *doc, columns []column[T], rows []T, paint func(row T, text string) string) {
	if d.Markdown {
		markdownRows(&d.Builder, columns, rows)
	}
	if d.Markdown || len(rows) == 0 {
		return
	}
	if !d.Wide {
		columns = slices.DeleteFunc(slices.Clone(columns), func(c column[T]) bool { return c.keep == ifWide })
	}
	cells := cellsOf(columns, rows)
	if !d.Wide {
		columns = fit(columns, cells, textWidth)
	}
	widths := widthsOf(cells)
	for i, line := range cells {
		text := ""
		for j, cell := range line {
			room := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				cell = d.paint(dim, cell)
			case paint != nil:
				cell = paint(rows[i-1], cell)
			}
			if columns[j].left {
				text += cell + room + "  "
			} else {
				text += room + cell + "  "
			}
		}
		d.printf("%s\n", strings.TrimRight(text, " "))
	}
}

// fit makes a table fit: columns that need not be there go, the last first, and names are
// shortened, so that they still differ. It returns the columns that are left.
func fit[T any](columns []column[T], cells [][]string, most int) []column[T] {
	over := func() int {
		sum := -2
		for _, w := range widthsOf(cells) {
			sum += w + 2
		}
		return sum - most
	}
	drop := func(level kept) bool { // the last of a level, if there is one
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
	for over() > 0 && drop(ifRoom) {
	}
	if over() <= 0 {
		return columns
	}
	names := 0 // the widest column of texts
	for i, w := range widthsOf(cells) {
		if columns[i].left && w > widthsOf(cells)[names] {
			names = i
		}
	}
	rename(cells, names, columns[names].alike, values)
	shortened := func() bool {
		length := widthsOf(cells)[names] - over()
		return length >= nameLength && rename(cells, names, columns[names].alike, func(name string) string { return middle(name, length) })
	}
	for over() > 0 && !shortened() && drop(lastly) {
	}
	if over() > 0 {
		squeeze(columns, cells, over())
	}
	return columns
}

// squeeze shortens the longest texts, in all columns, so that a table is narrower by that much; a
// column whose texts would not differ is left as it is.
func squeeze[T any](columns []column[T], cells [][]string, by int) {
	widths := widthsOf(cells)
	for length := slices.Max(widths); length >= nameLength; length-- {
		saved := 0
		for i, w := range widths {
			if columns[i].left {
				saved += max(0, w-length)
			}
		}
		if saved < by {
			continue
		}
		for i, w := range widths {
			if columns[i].left && w > length {
				rename(cells, i, columns[i].alike, func(name string) string { return middle(name, length) })
			}
		}
		return
	}
}

// rename changes the names in a column, if they differ as before, or may be alike.
func rename(cells [][]string, column int, alike bool, to func(string) string) bool {
	was, is := map[string]bool{}, map[string]bool{}
	for _, line := range cells[1:] {
		was[line[column]], is[to(line[column])] = true, true
	}
	if len(was) > len(is) && !alike {
		return false
	}
	for _, line := range cells {
		line[column] = to(line[column])
	}
	return true
}

// values are the values of a name of key=value parts, unless they say nothing without their keys:
// "session/as=parts" becomes "session/parts", and "json/reuse=no" stays.
func values(name string) string {
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

// middle shortens a name that is longer than that in its middle.
func middle(name string, length int) string {
	runes := []rune(name)
	if len(runes) <= length {
		return name
	}
	tail := length / 2
	return string(runes[:length-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// cellsOf are the titles of columns, and then the texts of rows.
func cellsOf[T any](columns []column[T], rows []T) [][]string {
	cells := make([][]string, 1+len(rows))
	for _, c := range columns {
		cells[0] = append(cells[0], c.title)
		for i, row := range rows {
			cells[1+i] = append(cells[1+i], c.text(row))
		}
	}
	return cells
}
