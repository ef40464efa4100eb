package profile

import (
	"cmp"
	"slices"
	"strings"
)

// A Flame is a node of a flame graph that is folded to owners: helpers are left out, and a library
// is one node, however deep its calls go.
type Flame struct {
	Name, Stage string // "" is the user's
	Share       float64
	Calls       []*Flame // the largest first
	byName      map[string]*Flame
}

// A flame graph has so many levels and nodes at most: what is beyond stays with its caller.
const (
	deepest   = 16
	mostNodes = 50_000
)

// burn adds a sample's time along its stack, whose first frame is the innermost, at a place. left
// is how many nodes may still be made.
func (f *Flame) burn(stack []*frame, p *place, ns float64, left *int) {
	f.Share += ns
	if p.kind != owned && p.kind != own {
		f.call(p.key().String(), other, ns, left)
		return
	}
	last := ""
	for depth := 0; len(stack) > 0 && depth < deepest && f != nil; stack = stack[:len(stack)-1] {
		one := stack[len(stack)-1]
		name, stage := one.outer, ""
		if one.owner != nil {
			name, stage = strings.TrimPrefix(one.owner.Path, "."), one.owner.Stage
		}
		if one.native || stage == helper || name == last {
			continue
		}
		f, last, depth = f.call(name, stage, ns, left), name, depth+1
	}
}

// call adds time to the node of what is called, nil if no more may be made.
func (f *Flame) call(name, stage string, ns float64, left *int) *Flame {
	one := f.byName[name]
	if one == nil {
		if *left--; *left < 0 {
			return nil
		}
		if f.byName == nil {
			f.byName = map[string]*Flame{}
		}
		one = &Flame{Name: name, Stage: stage}
		f.byName[name], f.Calls = one, append(f.Calls, one)
	}
	one.Share += ns
	return one
}

// settle makes shares of times, sorts, and leaves out what is too narrow to see.
func (f *Flame) settle(total, least float64) {
	f.Share /= total
	f.Calls = slices.DeleteFunc(f.Calls, func(one *Flame) bool { return one.Share < least*total })
	slices.SortFunc(f.Calls, func(a, b *Flame) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Name, b.Name))
	})
	for _, one := range f.Calls {
		one.settle(total, least)
	}
}
