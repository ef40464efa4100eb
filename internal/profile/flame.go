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
}

// deepest is how many levels a flame graph has.
const deepest = 16

// burn adds a sample's time along its stack, whose first frame is the innermost, at a place.
func (f *Flame) burn(stack []*frame, p *place, ns float64) {
	f.Share += ns
	if p.kind != owned && p.kind != own {
		f.call(p.key().String(), other).Share += ns
		return
	}
	last := ""
	for depth := 0; len(stack) > 0 && depth < deepest; stack = stack[:len(stack)-1] {
		one := stack[len(stack)-1]
		name, stage := one.pkg+"."+one.outer(), ""
		if one.owner != nil {
			name, stage = strings.TrimPrefix(one.owner.Path, "."), one.owner.Stage
		}
		if one.native || stage == helper || name == last {
			continue
		}
		f, last, depth = f.call(name, stage), name, depth+1
		f.Share += ns
	}
}

func (f *Flame) call(name, stage string) *Flame {
	for _, one := range f.Calls {
		if one.Name == name {
			return one
		}
	}
	f.Calls = append(f.Calls, &Flame{Name: name, Stage: stage})
	return f.Calls[len(f.Calls)-1]
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
