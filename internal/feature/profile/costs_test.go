package profile

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"postage/internal/test/recordtest"
)

// The first version of encoding/json is another contender on the second one's code.
func TestOnSecond(t *testing.T) {
	for toolchain, want := range map[string]bool{"go1.26.8": false, "go1.26.8-X:jsonv2": true, "go1.27.0": true, "go1.27.1 X:nojsonv2,simd": false, "go1.26rc1 X:greenteagc,jsonv2": true} {
		if got := onSecond(toolchain); got != want {
			t.Errorf("%s: %t", toolchain, got)
		}
	}
}

// mine is what a record of a message named m has.
func mine() *Costs {
	return &Costs{from: "mine", message: "m", rows: map[string]map[string]figure{"decode": {
		"codec=json": {100, 1000, 200, 0.03}, "codec=jsonv2": {50, 250, 200, 0.04}, "codec=protobuf": {10, 100, 100, 0},
	}}}
}

// A saving is the share times what the ratio leaves, within its interval; another format only if any
// will do, whose half of the bytes saves between nothing and half of reading them.
func TestPredict(t *testing.T) {
	predict := func(any bool) *Site {
		s := summaryOf(t, sourceOf(t, stacks("cpu", "3000 encoding/json.Unmarshal main.f", "1000 encoding/json.Unmarshal main.g", "4000 main.f", "1000 net/http.(*body).Read main.f", "1000 runtime.gcBgMarkWorker")),
			sourceOf(t, stacks("allocs", "40 encoding/json.Unmarshal main.f", "10 encoding/json.Unmarshal main.g", "50 main.f")))
		s.Predict(must(NewOwners()), mine(), any)
		return &s.Sites[0]
	}
	site := predict(false)
	if len(site.Savings) != 1 || site.Savings[0].Contender != "codec=jsonv2" {
		t.Fatalf("savings %+v", site.Savings)
	}
	x := site.Savings[0]
	if want := 0.3*0.5 + 0.04*0.75; math.Abs(x.Saves.Value-want) > 1e-9 || x.Saves.High-want < 0.034 || x.Saves.High-want > 0.04 || x.Saves.Low < want-0.04 {
		t.Errorf("saves %+v, want %v", x.Saves, want)
	}
	if math.Abs(*x.Cores-100*x.Saves.Value) > 1e-6 {
		t.Errorf("%v cores", *x.Cores)
	}
	site = predict(true)
	x = site.Savings[0]
	if want := 0.3*0.9 + 0.04*0.9; len(site.Savings) != 2 || x.Format != "protobuf" || math.Abs(x.Saves.Value-want-0.075*0.25) > 1e-9 || x.Saves.High < want+0.075*0.5 {
		t.Errorf("in any format, %v: %+v", want, site.Savings)
	}
}

// A place that no sample of CPU time is of, but bytes allocated are, has savings that are numbers; one
// whose message is not the record's has none.
func TestPredictWithoutSamples(t *testing.T) {
	s := summaryOf(t, sourceOf(t, stacks("cpu", "9 main.f", "3 runtime.gcBgMarkWorker", "1 net/http.(*body).Read main.f")), sourceOf(t, stacks("allocs", "9 encoding/json.Unmarshal main.f", "1 main.f")))
	other := *s
	other.Sites = []Site{s.Sites[0]}
	other.Sites[0].Message = "Order"
	s.Predict(must(NewOwners()), mine(), true)
	for _, x := range s.Sites[0].Savings {
		if math.IsNaN(x.Saves.Value) || math.IsInf(x.Saves.Low, 0) || math.IsNaN(x.Saves.Low) || math.IsNaN(x.Saves.High) {
			t.Errorf("%+v", x)
		}
	}
	other.Predict(must(NewOwners()), mine(), true)
	if why := other.Sites[0].Unpredicted; len(s.Sites[0].Savings) != 2 || len(other.Sites[0].Savings) != 0 || why != "the record is of m" {
		t.Errorf("%+v, of another message %q: %+v", s.Sites, why, other.Sites)
	}
}

// A record of several messages has no ratio of the user's.
func TestCostsOf(t *testing.T) {
	for cases, want := range map[int]string{1: "", 2: "several messages"} {
		made := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: cases, Blocks: 4}
		c, err := CostsOf(made.Record(), "mine")
		if want == "" && (err != nil || c.rows["encode"]["codec=a"].cost == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d messages: %+v, %v", cases, c, err)
		}
	}
}
