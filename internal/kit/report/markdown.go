package report

import "strings"

// markdownRows writes a table, nothing if there are no rows.
func markdownRows[T any](b *strings.Builder, columns []Column[T], rows []T) {
	if len(rows) == 0 {
		return
	}
	lines := [][]string{nil, nil}
	for _, c := range columns {
		rule := "---:"
		if c.Left {
			rule = "---"
		}
		lines[0], lines[1] = append(lines[0], c.Title), append(lines[1], rule)
	}
	for _, row := range rows {
		cells := []string{Code(columns[0].Text(row))}
		for _, c := range columns[1:] {
			cells = append(cells, Escape(c.Text(row)))
		}
		lines = append(lines, cells)
	}
	for _, cells := range lines {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	b.WriteByte('\n')
}

// Escape keeps Markdown from taking text for markup.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`", "\n", " ").Replace(s)
}

// Code formats a name as code. It escapes "|", which a table's cell cannot hold.
func Code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`, "\n", " ").Replace(s) + "`"
}
