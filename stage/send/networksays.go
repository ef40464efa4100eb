package send

import (
	"fmt"
	"math"
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// quicOf is the row of HTTP/3 that stands beside the baseline, HTTP/2, of a case over a network;
// nil where there is none, or no ratio yet.
func quicOf(c *verdict.CaseResult) *verdict.Result {
	if c.Baseline == nil || record.KeysOf(c.Name).Get("slice") != "network" {
		return nil
	}
	name, isHTTP2 := strings.CutPrefix(c.Baseline.Row.Contender, "proto=http2")
	for _, r := range c.Rows {
		if isHTTP2 && r.Row.Contender == "proto=http3"+name && r.Ratio != nil {
			return r
		}
	}
	return nil
}

// decided says whether a row is faster or slower than the baseline, and not only so far.
func decided(r *verdict.Result) bool {
	return r.Ratio.Bounded() && (r.Verdict == verdict.Faster || r.Verdict == verdict.Slower)
}

// cpuOf is the CPU time of both ends as a multiple of the baseline's.
func cpuOf(c *verdict.CaseResult, r *verdict.Result) float64 {
	both := func(r *verdict.Result) float64 { return r.Metrics[record.ClientCPU] + r.Metrics[record.ServerCPU] }
	return both(r) / both(c.Baseline)
}

// work is what the cases of one sentence have alike.
func work(c *verdict.CaseResult) string {
	k, set := record.KeysOf(c.Name), c.Baseline.Row.Settings
	switch {
	case k.Get("reuse") == "no":
		return "an answer of " + set["answer"] + " on a new connection"
	case set["inflight"] != "1":
		return set["inflight"] + " answers of " + set["answer"] + " at a time"
	}
	return "an answer of " + set["answer"]
}

// networkSays sums up what HTTP/3 is worth over networks, in time and CPU time: for each kind of
// work, over which it is faster than HTTP/2.
func networkSays(cases []*verdict.CaseResult) (sentences []string) {
	var works []string
	casesOf := map[string][]*verdict.CaseResult{}
	for _, c := range cases {
		if quicOf(c) == nil {
			continue
		}
		if w := work(c); casesOf[w] == nil {
			works = append(works, w)
		}
		casesOf[work(c)] = append(casesOf[work(c)], c)
	}
	for _, w := range works {
		sentences = append(sentences, strings.ToUpper(w[:1])+w[1:]+": "+networksSay(casesOf[w])+".")
	}
	return sentences
}

// networksSay sums up one kind of work.
func networksSay(cases []*verdict.CaseResult) string {
	var said []string
	least, most := math.Inf(1), 0.0 // of the CPU time without loss
	open := 0
	for _, c := range cases {
		r := quicOf(c)
		network := r.Row.Settings["link"]
		if strings.Contains(network, "loss=0%") || len(cases) == 1 {
			x := cpuOf(c, r)
			least, most = min(least, x), max(most, x)
		}
		switch {
		case decided(r):
			whose := ""
			if said == nil {
				whose = " of HTTP/2's time"
			}
			said = append(said, fmt.Sprintf("%.0f%% (%.0f to %.0f)%s over %s", 100*r.Ratio.Value, 100*r.Ratio.Low, 100*r.Ratio.High, whose, network))
		case len(cases) == 1 && r.Ratio.Bounded():
			return fmt.Sprintf("HTTP/3 takes %.0f to %.0f%% of HTTP/2's time over %s, which decides nothing, and %.1f times the CPU time at both ends", 100*r.Ratio.Low, 100*r.Ratio.High, network, least)
		default:
			open++
		}
	}
	text := "between HTTP/3 and HTTP/2 nothing is decided"
	if len(said) > 0 {
		text = "HTTP/3 takes " + strings.Join(said, ", ")
		if open > 0 {
			text += fmt.Sprintf("; over %d more it is not decided", open)
		}
	}
	if most > 0 {
		text += fmt.Sprintf("; it costs %.1f", least)
		if more := fmt.Sprintf("%.1f", most); more != fmt.Sprintf("%.1f", least) {
			text += " to " + more
		}
		text += " times the CPU time at both ends"
		if len(cases) > 1 {
			text += " without loss"
		}
	}
	return text
}
