package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"postage/internal/kit/words"
)

// The parts that all pages have.
var (
	//go:embed page/shell.gohtml
	shell string
	//go:embed page/page.css
	pageCSS string
)

// Page is an HTML page that needs no network and no other file.
type Page struct {
	Title, Command string // "load", "show"
	Style          template.CSS
	Script         template.JS
	Body           template.HTML
}

func (p Page) Write(w io.Writer) error {
	p.Style = template.CSS(pageCSS) + p.Style
	return template.Must(template.New("shell").Parse(shell)).Execute(w, p)
}

// Fragment fills in a template. Besides its own functions the template has duration, which prints as
// tables do, and whole, a number with commas.
func Fragment(text string, own template.FuncMap, data any) (template.HTML, error) {
	kit := template.FuncMap{"duration": Duration, "whole": words.Integer}
	t, err := template.New("").Funcs(kit).Funcs(own).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	return template.HTML(b.String()), err
}

// IDs counts a page's ids, so that no two are alike.
type IDs map[string]int

// New makes an id from a name, with a number behind it if another name has made the same id.
func (ids IDs) New(name string) string {
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
