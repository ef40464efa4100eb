package bench

import (
	"strings"

	"postage/lab"
	"postage/record"
)

// columns makes the entries of sub-benchmarks that are compared with each other. Those whose names
// differ only in the value of the key are one case.
func (s *Set) columns(o Options, side *side, p Package) {
	type group struct {
		c     *lab.Case
		of    []Benchmark
		names []string // of the contenders: "codec=json"
	}
	var groups []*group
	byName := map[string]*group{}
	for _, one := range side.benchmarks[p.Path] {
		parts, name := []string{}, ""
		for part := range strings.SplitSeq(one.Name, "/") {
			if strings.HasPrefix(part, o.Column+"=") {
				name = part
			} else {
				parts = append(parts, part)
			}
		}
		if name == "" {
			s.note("%s %s has no %s=", p.Path, one.Name, o.Column)
			continue
		}
		of := one
		of.Name = strings.Join(parts, "/")
		g := byName[of.Name]
		if g == nil {
			g = &group{c: newCase(p, &of, 0, false)}
			g.c.Baseline = o.Column + "=" + o.Baseline
			byName[of.Name], groups = g, append(groups, g)
		}
		g.of, g.names = append(g.of, one), append(g.names, name)
	}
	for _, g := range groups {
		var others []lab.Entry
		found := len(s.Entries)
		for i, one := range g.of {
			e := side.entry(g.c, p, one, 0)
			e.Contender.Name, e.Role = g.names[i], record.RoleContender
			if g.names[i] != g.c.Baseline {
				others = append(others, e)
				continue
			}
			e.Role = record.RoleBaseline
			s.Entries = append(s.Entries, e)
			e.Role, e.Contender.Name = record.RoleControl, o.Column+"=control"
			s.Entries = append(s.Entries, e)
		}
		if len(s.Entries) == found {
			s.note("%s has no %s to compare with", g.c.Doc, g.c.Baseline)
			continue
		}
		s.Entries = append(s.Entries, others...)
	}
}
