package send

import (
	"fmt"
	"strings"

	"postage/internal/verdict"
	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: an exchange of a hello carries a message, whose bytes are
// added to its own.
func figures() lab.Figures {
	return lab.Figures{
		Says: func(_ *record.Record, c *verdict.CaseResult) lab.Story {
			return lab.Story{Sentences: networkSays(c)}
		},
		Cost: &lab.Cost{Step: "send", Title: "sent by", Without: "not sent", Of: func(row *record.Row) *lab.Operation {
			keys := record.KeysOf(row.Case)
			op := &lab.Operation{
				Messages: 1, Client: "send: client", Server: "send: server", Bytes: []string{record.WireOut, record.WireIn}, Carries: true,
				Group: "slice=" + keys.Get("slice") + " tls=" + keys.Get("tls"), Usual: keys.Get("tls") == "on" && keys.Get("reuse") == "yes",
			}
			// It would be counted in addition to the message that was chosen.
			if size := row.Settings["size"]; size != "" && size != "hello" {
				op.Why = "it carries " + size + " of its own"
			}
			if answer := row.Settings["answer"]; answer != "" {
				op.Why = "it brings an answer of " + answer
			}
			return op
		}},
	}
}

// networkSays says of a case over a network what HTTP/3 is worth there, in time and CPU time.
func networkSays(c *verdict.CaseResult) []string {
	if c.Baseline == nil || record.KeysOf(c.Name).Get("slice") != "network" {
		return nil
	}
	name, over := strings.CutPrefix(c.Baseline.Row.Contender, "proto=http2")
	if !over {
		return nil
	}
	for _, r := range c.Rows {
		if r.Row.Contender != "proto=http3"+name || r.Ratio == nil {
			continue
		}
		set := r.Row.Settings
		what := set["inflight"] + " at a time of " + set["answer"]
		if record.KeysOf(c.Name).Get("page") != "" {
			what = "a page of " + set["answer"]
		}
		text := fmt.Sprintf("Over %s, %s: HTTP/3 takes ", set["link"], what)
		ratio := *r.Ratio
		switch {
		case ratio.Low == 0:
			text += fmt.Sprintf("%.0f%% of HTTP/2's time (no interval yet)", 100*ratio.Value)
		case r.Verdict == verdict.Undecided || r.Verdict == verdict.Same:
			text += fmt.Sprintf("%.0f to %.0f%% of HTTP/2's time, which decides nothing", 100*ratio.Low, 100*ratio.High)
		default:
			text += fmt.Sprintf("%.0f%% of HTTP/2's time (%.0f to %.0f)", 100*ratio.Value, 100*ratio.Low, 100*ratio.High)
		}
		both := func(r *verdict.Result) float64 { return r.Metrics[record.ClientCPU] + r.Metrics[record.ServerCPU] }
		return []string{text + fmt.Sprintf(", and %.1f times the CPU time at both ends.", both(r)/both(c.Baseline))}
	}
	return nil
}
