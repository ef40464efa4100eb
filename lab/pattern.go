package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"postage/record"
)

// Hinted is an error with advice on what to do, which the command prints in a line of its own.
type Hinted struct {
	Err  error
	Hint string
}

func (h *Hinted) Error() string { return h.Err.Error() }
func (h *Hinted) Unwrap() error { return h.Err }

// wrongPattern is a pattern that cannot be read or that no row matches.
func wrongPattern(pattern, reason, hint string) error {
	return &Hinted{fmt.Errorf("pattern %q: %s", pattern, reason), hint}
}

// Find returns the suites' entries that at least one of the patterns matches, in order; all of them
// for no patterns. Every pattern must match something.
//
// A pattern is a stage or key=value parts or both, with slashes between them, all of
// which must hold: "Encode/op=decode", "codec=polyglot", "codec=json*,sonic",
// "codec!=gob". A pattern with a colon in it is a filter in the syntax of
// golang.org/x/perf/benchproc: "/codec:(polyglot OR protobuf) -/op:encode".
func Find(suites []Suite, patterns []string) ([]Entry, error) {
	return match(Entries(suites), patterns)
}

func match(entries []Entry, patterns []string) ([]Entry, error) {
	if len(patterns) == 0 {
		return entries, nil
	}
	matched := map[string]bool{}
	for _, pattern := range patterns {
		filter, err := compile(pattern)
		if err != nil {
			return nil, wrongPattern(pattern, err.Error(), "a pattern is a stage or key=value parts, or both; "+allRows)
		}
		some := false
		for i := range entries {
			if matches(filter, &entries[i]) {
				matched[entries[i].Row()], some = true, true
			}
		}
		if !some {
			return nil, unmatched(entries, pattern)
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !matched[e.Row()] }), nil
}

func matches(filter *benchproc.Filter, e *Entry) bool {
	// Match says which measurements of a result match, and there are none here;
	// All is true if nothing contradicts.
	m, _ := filter.Match(&benchfmt.Result{Name: benchfmt.Name(e.Row())})
	return m.All()
}

// compile makes a benchproc filter of a pattern.
func compile(pattern string) (*benchproc.Filter, error) {
	if strings.Contains(pattern, ":") {
		return benchproc.NewFilter(pattern)
	}
	var terms []string
	for p := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		key, values, hasValue := strings.Cut(p, "=")
		negated := strings.HasSuffix(key, "!")
		key = strings.TrimSuffix(key, "!")
		switch {
		case p == "", key == "", hasValue && values == "":
			return nil, fmt.Errorf("an empty part")
		case !hasValue:
			terms = append(terms, ".name:/^(?i:"+glob(p)+")$/")
		case negated:
			terms = append(terms, "-/"+key+":/^(?:"+alternatives(values)+")$/")
		default:
			terms = append(terms, "/"+key+":/^(?:"+alternatives(values)+")$/")
		}
	}
	return benchproc.NewFilter(strings.Join(terms, " "))
}

func alternatives(values string) string {
	var globs []string
	for v := range strings.SplitSeq(values, ",") {
		globs = append(globs, glob(v))
	}
	return strings.Join(globs, "|")
}

// glob makes a regular expression of a shell pattern with * and ?.
func glob(s string) string {
	return strings.NewReplacer(`\*`, `[^\x2f]*`, `\?`, `[^\x2f]`).Replace(regexp.QuoteMeta(s))
}

// unmatched explains why a pattern matches nothing and names what comes near.
func unmatched(entries []Entry, pattern string) error {
	known := vocabulary(entries)
	parts := strings.Split(strings.Trim(pattern, "/"), "/")
	if strings.Contains(pattern, ":") {
		parts = nil
	}
	for _, p := range parts {
		filter, err := compile(p)
		if err != nil || slices.ContainsFunc(entries, func(e Entry) bool { return matches(filter, &e) }) {
			continue
		}
		return wrongPattern(pattern, fmt.Sprintf("no row has %q", p), "there is "+strings.Join(nearest(p, known), ", ")+"; "+allRows)
	}
	return wrongPattern(pattern, "no row has all of its parts", allRows)
}

const allRows = "`postage list` shows all rows"

// vocabulary is the stages and parts that rows are made of.
func vocabulary(entries []Entry) []string {
	var known []string
	for i := range entries {
		for p := range strings.SplitSeq(entries[i].Row(), "/") {
			if !slices.Contains(known, p) {
				known = append(known, p)
			}
		}
	}
	return known
}

// nearest returns the known words that contain s, or whose value s contains. If there is none it
// returns words of the same key, or the stages. There are six at most.
func nearest(s string, known []string) []string {
	s = strings.ToLower(strings.Replace(s, "!=", "=", 1))
	key, _, keyed := strings.Cut(s, "=")
	var near, alike []string
	for _, word := range known {
		w := strings.ToLower(word)
		of, value, _ := strings.Cut(w, "=")
		switch {
		case strings.Contains(w, s), len(value) > 3 && strings.Contains(s, value):
			near = append(near, word)
		case keyed && of == key, !keyed && value == "":
			alike = append(alike, word)
		}
	}
	if len(near) == 0 {
		near = alike
	}
	return near[:min(6, len(near))]
}

// All is the pattern that selects every row.
const All = "all"

// Select returns what a run with these patterns measures: the first look for no
// pattern, everything for "all", else the rows that match, joined by what they are
// judged against: their case's baseline, control and floors.
func Select(suites []Suite, patterns []string) ([]Entry, error) {
	entries := Entries(suites)
	if len(patterns) == 0 {
		return slices.DeleteFunc(entries, func(e Entry) bool { return !e.FirstLook() }), nil
	}
	if slices.Contains(patterns, All) {
		return entries, nil
	}
	matched, err := match(entries, patterns)
	if err != nil {
		return nil, err
	}
	rows, cases := map[string]bool{}, map[*Case]bool{}
	for i := range matched {
		rows[matched[i].Row()] = true
		cases[matched[i].Case] = true
	}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return !cases[e.Case] || e.Role == record.RoleContender && !rows[e.Row()]
	}), nil
}
