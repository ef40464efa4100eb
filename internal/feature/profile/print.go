package profile

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// Print writes where a service's CPU time goes, and what changes would save, or how to know that.
func Print(w io.Writer, s *Summary, form report.Form) error {
	if form.JSON {
		return report.WriteJSON(w, s.published())
	}
	d := &report.Doc{Form: form}
	d.Title(profileHeadline(s))
	report.Table(d, partColumns(), sharesOf(s), nil)
	for _, note := range profileNotes(s) {
		d.Note(note)
	}
	if sites := worthy(s); len(sites) > 0 {
		if !d.Markdown {
			d.Printf("\n")
		}
		report.Table(d, siteColumns(), sites, nil)
		if s.from == "" {
			writeNext(d, sites)
		} else {
			writeSavings(d, s.from, sites)
		}
	}
	return d.Print(w)
}

// writeNext writes the commands that say what another library would save.
func writeNext(d *report.Doc, sites []Site) {
	var commands []string
	for _, site := range sites {
		if site.Check != "" && !slices.Contains(commands, site.Check) {
			commands = append(commands, site.Check)
		}
	}
	if len(commands) == 0 {
		return
	}
	d.Printf("\n")
	d.Title("To know what another library would save:")
	for _, command := range append(commands, "postage profile … --with .postage/runs/latest") {
		if d.Markdown {
			d.Printf("- %s\n", report.Code(command))
		} else {
			d.Printf("  %s\n", command)
		}
	}
}

// published is the summary with empty lists for nil ones, as its JSON has them.
func (s *Summary) published() *Summary {
	out := *s
	out.Parts, out.Libraries, out.Sites = report.List(s.Parts), report.List(s.Libraries), []Site{}
	for _, site := range s.Sites {
		site.Savings = report.List(site.Savings)
		out.Sites = append(out.Sites, site)
	}
	return &out
}

// worthy returns the places in the user's code where a change may be worth it. What sends bytes is
// among the shares.
func worthy(s *Summary) (sites []Site) {
	for _, site := range s.Sites {
		if site.All() >= WorthIt && site.Function != "" && site.Stage != "send" {
			sites = append(sites, site)
		}
	}
	return sites
}

// profileHeadline sums the profile up in a sentence.
func profileHeadline(s *Summary) string {
	text := fmt.Sprintf("%.3g s of CPU time", s.CPUSeconds)
	if s.Cores != nil {
		text = fmt.Sprintf("%.2g cores", *s.Cores)
	}
	text = fmt.Sprintf("Of %s messages take %s", text, share(s.Messages))
	if s.MessagesGarbage != nil {
		text += fmt.Sprintf(", and %s of the garbage is theirs", tenths(*s.MessagesGarbage))
	}
	return text + "."
}

// profileNotes say what a reader must know of the shares.
func profileNotes(s *Summary) (notes []string) {
	if s.Samples < fewSamples {
		notes = append(notes, fmt.Sprintf("%s are few: profile for longer, or under load", words.Counted(int(s.Samples), "sample")))
	}
	if s.Unknown.Value > 0.5 {
		notes = append(notes, "What is not attributed has no function names: the program has no symbols, or is not of Go")
	}
	if s.Own.Value == 0 {
		notes = append(notes, "None of it is your own code: name your module with --main")
	}
	if s.Allocated == nil {
		notes = append(notes, "Garbage is not shared out: that takes a profile of allocations (/debug/pprof/allocs)")
	}
	return notes
}

// partShare is a part of all CPU time by its name.
type partShare struct {
	name  string
	share float64
}

// sharesOf lists what takes CPU time: messages by operation, and then the rest.
func sharesOf(s *Summary) (all []partShare) {
	for _, p := range s.Parts {
		all = append(all, partShare{p.String(), p.Share.Value})
	}
	all = append(all, partShare{"garbage", s.Garbage.Value}, partShare{"your own code", s.Own.Value}, partShare{"runtime", s.Runtime.Value},
		partShare{"other libraries", s.Others.Value}, partShare{"not attributed", s.Unknown.Value})
	return slices.DeleteFunc(all, func(p partShare) bool { return p.share < WorthIt })
}

func partColumns() []report.Column[partShare] {
	return []report.Column[partShare]{
		report.Texts("part", func(p partShare) string { return p.name }),
		report.Figures("CPU", func(p partShare) string { return tenths(p.share) }),
		report.Texts("", func(p partShare) string { return strings.Repeat("█", int(math.Round(40*p.share))) }),
	}
}

// With fewSamples, the interval of a share of 10% is about a third of it to either side.
const fewSamples = 300

func siteColumns() []report.Column[Site] {
	return []report.Column[Site]{
		report.Texts("where", siteName),
		report.Texts("does", func(x Site) string { return x.String() }),
		report.Texts("by", func(x Site) string { return x.Library }).When(report.Lastly),
		report.Figures("CPU", func(x Site) string { return share(x.Share) }),
		report.Figures("garbage", func(x Site) string { return report.Known(x.Garbage, tenths) }),
	}
}

// siteName is a function without its package's path, and the message.
func siteName(x Site) string {
	name := x.Function[strings.LastIndexByte(x.Function, '/')+1:]
	if x.Message != "" {
		name += " " + x.Message
	}
	return name
}

// saving says where a saving is.
type saving struct {
	where string
	Saving
}

// mostSavings is how many savings of a place are shown.
const mostSavings = 3

func savingColumns() []report.Column[saving] {
	return []report.Column[saving]{
		report.Texts("where", func(x saving) string { return x.where }),
		report.Texts("instead", func(x saving) string {
			text := record.Short(x.Contender)
			if x.Format != "" {
				text += " (" + x.Format + ")"
			}
			return text
		}),
		report.Figures("saves", func(x saving) string {
			if !x.Known() {
				return fmt.Sprintf("not known: %s to %s", tenths(x.Saves.Low), tenths(x.Saves.High))
			}
			return share(x.Saves)
		}),
		report.Figures("cores", func(x saving) string {
			if x.Cores == nil || !x.Known() || math.Abs(*x.Cores) < 0.01 {
				return ""
			}
			return fmt.Sprintf("%.2g", *x.Cores)
		}).When(report.Lastly),
	}
}

// writeSavings writes what a change would save, and for which places nobody knows it.
func writeSavings(d *report.Doc, from string, sites []Site) {
	var all []saving
	for _, site := range sites {
		for _, x := range site.Savings[:min(mostSavings, len(site.Savings))] {
			if x.Saves.High >= WorthIt {
				all = append(all, saving{siteName(site), x})
			}
		}
	}
	d.Printf("\n")
	if len(all) > 0 {
		d.Title("What a change would save, by " + from + ":")
		report.Table(d, savingColumns(), all, nil)
	} else {
		d.Title("By " + from + " no change is worth it.")
	}
	for _, site := range sites {
		if why := site.Unpredicted; why != "" {
			d.Note(fmt.Sprintf("Not known for %s: %s.", siteName(site), why))
		}
	}
}

// share is a part of all CPU time with its interval: "11.8% (10.9–12.8)".
func share(i verdict.Interval) string {
	return fmt.Sprintf("%s (%s–%s)", tenths(i.Value), strings.TrimSuffix(tenths(i.Low), "%"), strings.TrimSuffix(tenths(i.High), "%"))
}

// tenths is a part of 1, to a tenth of a percent.
func tenths(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
