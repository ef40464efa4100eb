package report

import (
	_ "embed"
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
