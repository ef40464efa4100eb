package send

import (
	"strings"
	"testing"

	"postage/internal/verdict"
	"postage/record"
)

// cell is a case over a network, in which HTTP/3 takes such a part of HTTP/2's time.
func cell(rtt, loss string, v verdict.Verdict, ratio, low, high, cpu float64) *verdict.CaseResult {
	result := func(name string, role record.Role, cpu float64) *verdict.Result {
		return &verdict.Result{Row: &record.Row{Contender: name, Role: role, Settings: map[string]string{
			"inflight": "10", "answer": "1k", "link": "rtt=" + rtt + ",loss=" + loss,
		}}, Metrics: map[string]float64{record.ClientCPU: cpu, record.ServerCPU: cpu}}
	}
	c := &verdict.CaseResult{Name: "Send/slice=network/reuse=yes/answer=1k/inflight=10/rtt=" + rtt + "/loss=" + loss, Baseline: result("proto=http2", record.RoleBaseline, 1)}
	row := result("proto=http3", record.RoleContender, cpu)
	row.Verdict, row.Ratio = v, &verdict.Comparison{Interval: verdict.Interval{Value: ratio, Low: low, High: high}}
	c.Rows = []*verdict.Result{c.Baseline, row}
	return c
}

// Networks are summed up: who wins, or that intervals overlap.
func TestNetworkSays(t *testing.T) {
	cases := []*verdict.CaseResult{
		cell("20ms", "0%", verdict.Slower, 1.2, 1.1, 1.3, 1.5),
		cell("20ms", "2%", verdict.Faster, 0.55, 0.42, 0.73, 1),
		cell("100ms", "0%", verdict.Undecided, 0.9, 0.7, 1.2, 2),
		{Name: "Send/slice=network/reuse=yes"}, // without its baseline, as --resume or a merge can leave it
		{Name: "Send/slice=tls", Baseline: &verdict.Result{Row: &record.Row{Contender: "proto=http1"}}},
	}
	const want = "10 answers of 1k at a time: HTTP/3 takes 120% (110 to 130) of HTTP/2's time over rtt=20ms,loss=0%, 55% (42 to 73) over rtt=20ms,loss=2%; over 1 more it is not decided; it costs 1.5 to 2.0 times the CPU time at both ends without loss."
	if got := networkSays(cases); strings.Join(got, "\n") != want {
		t.Errorf("it says %q\nwant    %q", got, want)
	}
	const one = "10 answers of 1k at a time: HTTP/3 takes 70 to 120% of HTTP/2's time over rtt=100ms,loss=0%, which decides nothing, and 2.0 times the CPU time at both ends."
	if got := networkSays(cases[2:3]); strings.Join(got, "\n") != one {
		t.Errorf("it says %q\nwant    %q", got, one)
	}
}
