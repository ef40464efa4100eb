package seal

import "postage/lab"

// Suite returns the stage's cases.
func Suite() lab.Suite {
	return lab.Suite{Stage: "seal", Doc: "Bytes to an encrypted, signed Web Push request: which library, which of its caches?",
		Figures: figures(),
		Options: []lab.Option{{Name: "pad", Values: []string{padding(false).String(), padding(true).String()}}},
		Make:    cases}
}

func cases(set lab.Settings) []lab.Case {
	pad := padding(set["pad"] == padding(true).String())
	return []lab.Case{modesCase(pad), pageCase()}
}

// contenders returns the contenders for one padding, in the order in which they are listed. To add
// one, write a file like its shortest neighbour and add a line here.
func contenders() []*contender {
	list := []*contender{
		webpushGo("lib=webpush-go"),
		reference(),
	}
	for _, m := range modes {
		list = append(list, libraryRow(m, true), libraryRow(m, false))
	}
	return append(list, webpushGoParsing(), libraryParsing(modes[0]), libraryParsing(modes[2]))
}

func modesCase(pad padding) lab.Case {
	c := lab.Case{
		Name:     "Seal/pad=" + pad.String(),
		Doc:      "What does it cost to prepare a 365-byte notification, unpadded, and what does each mode of reuse save?",
		Headline: !bool(pad),
		First: []string{"lib=webpush/mode=strict/as=request", "lib=webpush/mode=shared/as=request", "lib=webpush/mode=session/as=request",
			"floor=composed/mode=strict", "floor=composed/mode=shared", "floor=composed/mode=session"},
		Baseline: "lib=webpush-go",
	}
	if pad {
		c.Doc = "What does it cost to prepare a 365-byte notification padded to 4096 bytes, and what does each mode of reuse save?"
	}
	for _, contender := range contenders() {
		c.Contenders = append(c.Contenders, contender.row(pad))
	}
	c.Contenders = append(c.Contenders,
		composed("strict", pad, keygen, agreement, salt, schedule, seal),
		composed("shared", pad, agreement, salt, schedule, seal),
		composed("session", pad, salt, contentSchedule, seal),
		composed("session/hkdf=std", pad, salt, stdContentSchedule, seal))
	return c
}
