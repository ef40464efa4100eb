package report

import "encoding/json"

// The form that the page's script reads, made small: options name their heading and their
// group by its place in a list, from 1, and a part is [name, ns, low, high].
type (
	scriptCosts struct {
		Headings []string        `json:"headings"`
		Groups   []string        `json:"groups"`
		Messages []scriptMessage `json:"messages"`
		Seals    []scriptOption  `json:"seals"`
		Sends    []scriptOption  `json:"sends"`
		Stores   []scriptOption  `json:"stores"`
	}
	scriptMessage struct {
		Name   string         `json:"name"`
		Codecs []scriptOption `json:"codecs"`
	}
	scriptOption struct {
		Label   string       `json:"label"`
		Heading int          `json:"in,omitempty"`
		Group   int          `json:"group,omitempty"`
		Why     string       `json:"why,omitempty"`
		Parts   []scriptPart `json:"parts,omitempty"`
		Bytes   float64      `json:"bytes,omitempty"`
		Whole   bool         `json:"whole,omitempty"`
	}
	scriptPart [4]any
)

// MarshalJSON writes the form that the page's script reads.
func (c *costs) MarshalJSON() ([]byte, error) {
	var out scriptCosts
	for _, m := range c.Messages {
		out.Messages = append(out.Messages, scriptMessage{m.Name, out.options(m.Codecs)})
	}
	out.Seals, out.Sends, out.Stores = out.options(c.Seals), out.options(c.Sends), out.options(c.Stores)
	return json.Marshal(out)
}

func (out *scriptCosts) options(options []costOption) []scriptOption {
	var all []scriptOption
	for _, o := range options {
		s := scriptOption{Label: o.Label, Heading: listed(&out.Headings, o.Heading), Group: listed(&out.Groups, o.Group), Why: o.Why, Bytes: o.Bytes, Whole: o.Whole}
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
