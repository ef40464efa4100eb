package report

import (
	"postage/internal/cost"
)

// The form that the page's script reads, made small: options name their heading and their
// group by its place in a list, from 1, and a part is [name, ns, low, high].
type (
	scriptCosts struct {
		Headings []string     `json:"headings"`
		Groups   []string     `json:"groups"`
		Messages []string     `json:"messages"`
		Steps    []scriptStep `json:"steps"`
	}
	// Lists has one list of options for all messages, or one for each.
	scriptStep struct {
		Name  string           `json:"name"`
		Lists [][]scriptOption `json:"lists"`
	}
	scriptOption struct {
		Label   string       `json:"label"`
		Heading int          `json:"in,omitempty"`
		Group   int          `json:"group,omitempty"`
		Why     string       `json:"why,omitempty"`
		Parts   []scriptPart `json:"parts,omitempty"`
		Bytes   float64      `json:"bytes,omitempty"`
		Whole   bool         `json:"whole,omitempty"`
		Carries bool         `json:"carries,omitempty"`
	}
	scriptPart [4]any
)

func newScriptCosts(m *cost.Model) scriptCosts {
	out := scriptCosts{Messages: m.Messages}
	for _, s := range m.Steps {
		step := scriptStep{Name: s.Name}
		for _, options := range s.Lists {
			step.Lists = append(step.Lists, out.options(options))
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

func (out *scriptCosts) options(options []cost.Option) []scriptOption {
	var all []scriptOption
	for _, o := range options {
		s := scriptOption{Label: o.Label, Heading: listed(&out.Headings, o.Heading), Group: listed(&out.Groups, o.Group), Why: o.Why, Bytes: o.Bytes, Whole: o.Whole, Carries: o.Carries}
		for _, p := range o.Parts {
			s.Parts = append(s.Parts, scriptPart{p.Name, p.NS, p.Low, p.High})
		}
		all = append(all, s)
	}
	return all
}

// listed is the place of s in a list, from 1, to which it is added; 0 for "".
func listed(list *[]string, s string) int {
	if s == "" {
		return 0
	}
	// Options come case by case: it is the last, or near it.
	for i := len(*list) - 1; i >= 0; i-- {
		if (*list)[i] == s {
			return i + 1
		}
	}
	*list = append(*list, s)
	return len(*list)
}
