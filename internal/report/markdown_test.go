package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Record(&b, sample(), stages, Form{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "record.md", b.Bytes())
	wellFormed(t, b.String())
}

// cellEnd is a "|" that ends a cell, which an escaped one does not.
var cellEnd = regexp.MustCompile(`(^|[^\\])\|`)

// wellFormed says whether a Markdown text has rows of one width in each table, and no HTML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	if tag := regexp.MustCompile(`(^|[^\\])<[a-z/]`).FindString(text); tag != "" {
		t.Errorf("HTML in Markdown: %q", tag)
	}
	width, head, above := 0, false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if head {
				t.Errorf("a table of a head alone, above %q", line)
			}
			width, head, above = 0, false, line
			continue
		}
		cells := len(cellEnd.FindAllString(line, -1))
		switch {
		case width == 0 && above != "":
			t.Errorf("a table without a blank line above it: %s", line)
		case width == 0:
			width, head = cells, true
		case head:
			if head = false; !regexp.MustCompile(`^(\| (---|---:) )+\|$`).MatchString(line) {
				t.Errorf("no line of dashes below a table's head: %s", line)
			}
		}
		if cells != width {
			t.Errorf("a row of %d cells in a table of %d: %s", cells-1, width-1, line)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{"a|b": `a\|b`, "<b>": `\<b>`, "*x*": `\*x\*`, "two\nlines": "two lines"} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	if got := code("a`|b"); got != "`a'\\|b`" {
		t.Errorf("code: %s", got)
	}
}
