package report

import "testing"

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{"a|b": `a\|b`, "<b>": `\<b>`, "*x*": `\*x\*`, "two\nlines": "two lines"} {
		if got := Escape(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Code("a`|b"); got != "`a'\\|b`" {
		t.Errorf("code: %s", got)
	}
}
