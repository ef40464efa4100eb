package report

import (
	"fmt"
	"strings"
)

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
