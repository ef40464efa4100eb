package stage

import (
	"testing"
	"unicode/utf8"
)

// The table of a first look has room for names of 20 characters, and no two cases share a name.
func TestSpoken(t *testing.T) {
	const most = 20
	spoken := map[string]string{}
	for _, suite := range Suites() {
		if suite.Figures.Spoken == nil {
			t.Errorf("%s: nothing says what a person calls its cases", suite.Stage)
			continue
		}
		for _, c := range suite.Cases {
			name := suite.Figures.Spoken(c.Name)
			if other := spoken[name]; name != "" && other != "" {
				t.Errorf("%s and %s are both %q", other, c.Name, name)
			}
			if n := utf8.RuneCountInString(name); c.Headline && len(c.First) > 0 && (n == 0 || n > most) {
				t.Errorf("%s is %q, of %d characters, want at most %d", c.Name, name, n, most)
			}
			spoken[name] = c.Name
		}
	}
}
