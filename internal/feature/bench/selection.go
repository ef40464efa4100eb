package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// selection is a -bench expression as package testing takes it: alternatives with | between them,
// each of elements with / between them, neither of which is in brackets.
type selection []alternative

// alternative selects functions, and those below them by the rest of it, "/size=10".
type alternative struct {
	function *regexp.Regexp
	rest     string
}

func parseSelection(pattern string) (all selection, err error) {
	for _, one := range cutOutside(pattern, '|') {
		var elements []*regexp.Regexp
		for _, element := range cutOutside(one, '/') {
			is, err := regexp.Compile(element)
			if err != nil {
				return nil, fmt.Errorf("-bench %s: %w", pattern, err)
			}
			elements = append(elements, is)
		}
		all = append(all, alternative{elements[0], one[len(elements[0].String()):]})
	}
	return all, nil
}

// of is the expression that selects the same of one function, "" for nothing.
func (s selection) of(function string) string {
	var all []string
	for _, one := range s {
		if one.function.MatchString(function) {
			all = append(all, "^"+function+"$"+one.rest)
		}
	}
	if whole := "^" + function + "$"; slices.Contains(all, whole) {
		return whole
	}
	return strings.Join(all, "|")
}

// cutOutside splits a regular expression where it has that character outside of brackets.
func cutOutside(pattern string, at byte) (parts []string) {
	begin, class, group := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			class++
		case c == ']':
			class = max(0, class-1)
		case class > 0:
		case c == '(':
			group++
		case c == ')':
			group--
		case c == at && group == 0:
			parts, begin = append(parts, pattern[begin:i]), i+1
		}
	}
	return append(parts, pattern[begin:])
}
