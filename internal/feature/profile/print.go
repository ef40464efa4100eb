package profile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"postage/internal/kit/report"
	"postage/internal/kit/words"
	"postage/internal/verdict"
	"postage/record"
)

// Print writes where a service's CPU time goes, and what changes would save.
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
	if !d.Markdown {
		d.Printf("\n")
	}
	sites := worthy(s)
	report.Table(d, siteColumns(), sites, nil)
	if small := len(s.Sites) - len(sites); small > 0 {
		d.Note(fmt.Sprintf("%s more, each below %s of all CPU time: not worth a change", words.Counted(small, "place"), tenths(WorthIt)))
	}
	writeSavings(d, s, sites)
	for _, why := range unpredicted(sites) {
		d.Note(why)
	}
	for i, command := range checks(sites) {
		if i == 0 {
			d.Printf("\n")
			d.Title("To check it, and have your own message's ratios (--with .postage/runs/latest):")
		}
		if d.Markdown {
			d.Printf("- %s\n", report.Code(command))
		} else {
			d.Printf("  %s\n", command)
		}
	}
	return d.Print(w)
}

// published is the summary with empty lists for nil ones, as its JSON has them.
func (s *Summary) published() *Summary {
	out := *s
	out.Parts, out.Libraries, out.Everywhere = report.List(s.Parts), report.List(s.Libraries), report.List(s.Everywhere)
	out.Sites = []Site{}
	for _, site := range s.Sites {
		site.Savings, site.Checks = report.List(site.Savings), report.List(site.Checks)
		out.Sites = append(out.Sites, site)
	}
	return &out
}

// worthy returns the sites where a change may be worth it.
func worthy(s *Summary) (sites []Site) {
	for _, site := range s.Sites {
		if site.All() >= WorthIt {
			sites = append(sites, site)
		}
	}
	return sites
}

// profileHeadline sums the profile up in a sentence.
func profileHeadline(s *Summary) string {
	text := words.Counted(int(s.Samples), "sample")
	if s.Cores != nil {
		text = fmt.Sprintf("%.2g cores", *s.Cores)
	} else if s.CPUSeconds != nil {
		text = fmt.Sprintf("%.3g s of CPU time", *s.CPUSeconds)
	}
	text = fmt.Sprintf("Of %s messages take %s, garbage %s", text, share(s.Messages), tenths(s.Garbage.Value))
	if s.MessagesGarbage != nil {
		text += fmt.Sprintf(" (%s of it theirs)", tenths(*s.MessagesGarbage))
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
	name := cmp.Or(x.Function[strings.LastIndexByte(x.Function, '/')+1:], "(libraries)")
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

// mostSavings is how many savings an operation shows. If it has several places, each shows one.
const mostSavings = 3

// savingsOf returns the savings to show, and where their ratios are from.
func savingsOf(s *Summary, sites []Site) (all []saving, from map[string]bool) {
	shown := map[Key]int{}
	from = map[string]bool{}
	for _, x := range s.Everywhere {
		if shown[x.Key]++; shown[x.Key] <= mostSavings && x.Saves.Value > 0 {
			all = append(all, saving{fmt.Sprintf("%s, all %d places", x.Key, x.Places), x.Saving})
			from[x.From] = true
		}
	}
	for i := range sites {
		most := mostSavings
		if shown[sites[i].Key] > 0 {
			most = 1
		}
		for j, x := range sites[i].Savings {
			if j < most && x.Saves.Value > 0 {
				where := siteName(sites[i])
				if sites[i].Function == "" {
					where = sites[i].String()
				}
				all = append(all, saving{where, x})
				from[x.From] = true
			}
		}
	}
	return all, from
}

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
			switch {
			case x.Saves.High < WorthIt:
				return "not worth it"
			case !x.Known():
				return fmt.Sprintf("not known: %s to %s", tenths(x.Saves.Low), tenths(x.Saves.High))
			}
			return share(x.Saves)
		}),
		report.Figures("cores, USD a month", func(x saving) string {
			if x.Cores == nil {
				return "n/a"
			}
			if !x.Known() || math.Abs(*x.Cores) < 0.01 {
				return ""
			}
			return fmt.Sprintf("%.2g, %.2g", *x.Cores, *x.USDMonth)
		}).When(report.Lastly),
		report.Texts("by", func(x saving) string { return fmt.Sprintf("%s, %s", x.From, words.Counted(x.Messages, "message")) }).When(report.IfRoom),
	}
}

func writeSavings(d *report.Doc, s *Summary, sites []Site) {
	all, from := savingsOf(s, sites)
	if len(all) == 0 {
		d.Paragraph("", "Of no other library it is known that it does one of these for less.")
		return
	}
	d.Printf("\n")
	d.Title("What a change would save, by " + strings.Join(slices.Sorted(maps.Keys(from)), " and ") + ":")
	report.Table(d, savingColumns(), all, nil)
	if slices.ContainsFunc(all, func(x saving) bool { return !x.Known() }) {
		d.Note("Not known: messages differ that much. --with your own message's record, or --size, narrows it")
	}
}

// unpredicted says for which places nothing is predicted, and why.
func unpredicted(sites []Site) (all []string) {
	for _, site := range sites {
		if why := site.Unmeasured(); why != "" {
			all = append(all, fmt.Sprintf("Nothing is predicted for %s, %s: %s.", siteName(site), site, why))
		}
	}
	return all
}

// checks returns the commands that check what was predicted.
func checks(sites []Site) (commands []string) {
	for _, site := range sites {
		for _, command := range site.Checks {
			if !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// share is a part of all CPU time with its interval: "11.8% (10.9–12.8)".
func share(i verdict.Interval) string {
	return fmt.Sprintf("%s (%s–%s)", tenths(i.Value), strings.TrimSuffix(tenths(i.Low), "%"), strings.TrimSuffix(tenths(i.High), "%"))
}

// tenths is a part of 1, to a tenth of a percent.
func tenths(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
