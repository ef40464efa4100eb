package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"
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
// for no patterns. Every pattern must match something. The error for a pattern that asks for another
// value of an option says which flag to give.
//
// A pattern is a stage or key=value parts or both, with slashes between them, all of
// which must hold: "Encode/op=decode", "codec=polyglot", "codec=json*,sonic",
// "codec!=gob". A pattern with a colon in it is a filter in the syntax of
// golang.org/x/perf/benchproc: "/codec:(polyglot OR protobuf) -/op:encode".
func Find(suites []Suite, patterns []string) ([]Entry, error) {
	return match(suites, Entries(suites), patterns)
}

func match(suites []Suite, entries []Entry, patterns []string) ([]Entry, error) {
	if len(patterns) == 0 {
		return entries, nil
	}
	matched := map[string]bool{}
	for _, pattern := range patterns {
		filter, err := compile(pattern)
		if err != nil {
			return nil, wrongPattern(pattern, err.Error(), "a pattern looks like "+sample(entries))
		}
		some := false
		for i := range entries {
			if matches(filter, &entries[i]) {
				matched[entries[i].Row()], some = true, true
			}
		}
		if !some {
			return nil, unmatched(suites, entries, pattern)
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
func unmatched(suites []Suite, entries []Entry, pattern string) error {
	if flags := missingOptions(suites, pattern); flags != "" {
		return wrongPattern(pattern, "no row has all of its parts", "give "+flags)
	}
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
		hint := allRows
		if near := nearest(p, known); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "? " + allRows
		}
		return wrongPattern(pattern, fmt.Sprintf("no row has %q", p), hint)
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

// nearest returns up to three of the known words that are a few edits from s, the
// nearest first. A word without its key counts too: "polyglott" is near codec=polyglot.
func nearest(s string, known []string) []string {
	s = strings.ToLower(strings.Replace(s, "!=", "=", 1))
	var near []string
	distance := map[string]int{}
	for _, word := range known {
		w := strings.ToLower(word)
		d := edlib.OSADamerauLevenshteinDistance(s, w)
		if _, value, ok := strings.Cut(w, "="); ok && !strings.Contains(s, "=") {
			d = min(d, edlib.OSADamerauLevenshteinDistance(s, value))
		}
		if d <= max(1, len(s)/4) || (len(s) >= 3 && strings.Contains(w, s)) {
			near, distance[word] = append(near, word), d
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance[a] - distance[b] })
	return near[:min(3, len(near))]
}

// sample is what patterns for the entries look like.
func sample(entries []Entry) string {
	if len(entries) == 0 {
		return "key=value"
	}
	parts := strings.SplitN(entries[0].Case.Name, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/") + " or " + entries[0].Contender.Name
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
	matched, err := match(suites, entries, patterns)
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
