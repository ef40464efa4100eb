package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"postage/internal/words"
)

// The parts of a page that all have.
var (
	//go:embed page/shell.gohtml
	shell string
	//go:embed page/page.css
	pageCSS string
)

// Page is an HTML page that needs nothing else: no network, and no scripts but its own.
type Page struct {
	Title, Command string // "load", "show"
	Style          template.CSS
	Script         template.JS
	Body           template.HTML
}

// Section is a feature's part of a page of several.
type Section struct {
	ID, Name string
	Style    template.CSS
	Body     template.HTML
}

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	p.Style = template.CSS(pageCSS) + p.Style
	return template.Must(template.New("shell").Parse(shell)).Execute(w, p)
}

// Fragment fills in a template, which has some functions beside its own: duration and ratio, as in
// tables; whole, a number with commas; sum.
func Fragment(text string, own template.FuncMap, data any) (template.HTML, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"duration": Duration, "ratio": Ratio, "whole": words.Integer,
		"sum": func(all ...int) (sum int) {
			for _, n := range all {
				sum += n
			}
			return sum
		},
	}).Funcs(own).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	return template.HTML(b.String()), err
}

// IDs has the ids of a page, so that no two are alike.
type IDs map[string]int

// Of is an id made of a name, with a number behind it where another name has made the same.
func (ids IDs) Of(name string) string {
	id := slug(name)
	if ids[id]++; ids[id] > 1 {
		return fmt.Sprintf("%s-%d", id, ids[id])
	}
	return id
}

// slug makes a name fit for a link.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}
