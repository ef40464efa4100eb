package report

import (
	"slices"
	"strings"
)

// keys are the key=value parts of a row's or a case's name, in order. The stage, which
// has no key, is not among them.
type keys [][2]string

func keysOf(name string) keys {
	var k keys
	for part := range strings.SplitSeq(name, "/") {
		if key, value, found := strings.Cut(part, "="); found {
			k = append(k, [2]string{key, value})
		}
	}
	return k
}

// get returns the value of a key, "" if there is none.
func (k keys) get(key string) string {
	for _, part := range k {
		if part[0] == key {
			return part[1]
		}
	}
	return ""
}

// without leaves keys out.
func (k keys) without(left ...string) keys {
	var rest keys
	for _, part := range k {
		if !slices.Contains(left, part[0]) {
			rest = append(rest, part)
		}
	}
	return rest
}

func (k keys) join(separator string) string {
	var parts []string
	for _, part := range k {
		parts = append(parts, part[0]+"="+part[1])
	}
	return strings.Join(parts, separator)
}

// hold says whether all parts of a name are among the keys.
func (k keys) hold(name string) bool {
	for _, part := range keysOf(name) {
		if !slices.Contains(k, part) {
			return false
		}
	}
	return true
}
