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
		c           *lab.Case
		base, other []lab.Entry // the baseline with its control, and the rest
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
		e := side.entry(g.c, p, one, 0)
		if e.Contender.Name, e.Role = name, record.RoleContender; name != g.c.Baseline {
			g.other = append(g.other, e)
			continue
		}
		control := e
		e.Role, control.Role, control.Contender.Name = record.RoleBaseline, record.RoleControl, o.Column+"=control"
		g.base = append(g.base, e, control)
	}
	for _, g := range groups {
		if g.base == nil {
			s.note("%s has no %s to compare with", g.c.Doc, g.c.Baseline)
			continue
		}
		s.Entries = append(append(s.Entries, g.base...), g.other...)
	}
}
