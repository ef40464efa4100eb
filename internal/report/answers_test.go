package report

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"postage/internal/recordtest"
	"postage/internal/verdict"
	"postage/record"
)

// A contender that nothing beats has its sentence, whether the operation has a verb or not.
func TestAnswersOfTheUnbeaten(t *testing.T) {
	for _, op := range []string{"encode", "other"} {
		const c = "Encode/msg=0/op=encode/"
		// a is as fast as the baseline, all others are slower.
		run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20, Slower: map[string]float64{c + "codec=a": 10.0 / 3, c + "codec=b": 5}}
		rec := run.Record()
		rename := func(s *string) { *s = strings.Replace(*s, "op=encode", "op="+op, 1) }
		for i := range rec.Rows {
			rename(&rec.Rows[i].Name)
			rename(&rec.Rows[i].Case)
		}
		for i := range rec.Blocks {
			rename(&rec.Blocks[i].Case)
			for j := range rec.Blocks[i].Series {
				rename(&rec.Blocks[i].Series[j].Row)
			}
		}
		page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
		if !strings.Contains(page, "and no faster contender was found") {
			t.Errorf("%s: the page does not say that no faster contender was found", op)
		}
	}
}

// An answer names the quantity, and says of a winner that departs from a standard that it does, and
// what does not.
func TestAnswersSayWhatDeparts(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 20}
	rec := run.Record()
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueCost
		if rec.Rows[i].Contender == "codec=a" {
			rec.Rows[i].Properties = map[string]string{record.Departs: "RFC 1 (2), as it is short"}
		}
	}
	page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
	if want := regexp.MustCompile(`it is [0-9.]+× cheaper than base \([^)]*\)[^<]*, but departs from RFC 1 \(2\), as it is short: b does not, and is (about )?[0-9.]+× cheaper`); !want.MatchString(page) {
		t.Errorf("the page does not say %s", want)
	}
}

// The old versions of a run against a revision are in the plots, but cannot be chosen.
func TestOldSelvesAreNoChoice(t *testing.T) {
	run := recordtest.Run{Rand: rand.New(rand.NewPCG(7, 1)), Cases: 1, Blocks: 10}
	rec := run.Record()
	recordtest.Against(rec, 0.2)
	page := string(htmlOf(t, []NamedRun{{"a.txt", rec}}))
	if !strings.Contains(page, "rev=abc1234") || !strings.Contains(page, "encode with <a href=\"#encode-msg-0-op-encode\">a</a>: it is") {
		t.Error("the page lacks the old rows, or the answer")
	}
	for _, never := range []string{"rev=abc1234</a>", "rev=abc1234 may be"} {
		if strings.Contains(page, never) {
			t.Errorf("the page says %q", never)
		}
	}
}

// rough is the sample as a machine measures it that is busy: a faster contender that takes about as
// long as another, and one that may be as fast as the baseline, all with wide intervals.
func rough() *record.Record {
	const apart = 0.15 // the blocks' values, each of them
	rec := sample()
	rec.Rows, rec.Blocks = nil, nil
	rng := rand.New(rand.NewPCG(7, 7))
	add := func(c string, specs ...spec) { addCase(rec, rng, c, 6, specs...) }
	add("Encode/msg=order/op=encode", spec{"codec=protobuf", "baseline", "", 4700, 16}, spec{"codec=msgp", "contender", "", 660, 0},
		spec{"codec=pbfast", "contender", "", 700, 0}, spec{"codec=json", "contender", "", 5700, 9}, spec{"floor=memcpy", "floor", "", 20, 0})
	add("Seal/pad=none", spec{"lib=webpush-go", "baseline", "", 196_000, 229}, spec{"lib=webpush", "contender", "", 190_000, 12})
	for i := range rec.Blocks {
		for j := range rec.Blocks[i].Series {
			s, own := &rec.Blocks[i].Series[j], math.Exp(apart*rng.NormFloat64())
			for k, ns := range s.WallNS {
				s.CPUNS[k] = int64(float64(ns) * own)
				s.WallNS[k] = int64(1.4 * float64(s.CPUNS[k]))
			}
		}
	}
	for i := range rec.Rows {
		rec.Rows[i].Value = record.ValueCost
	}
	load := 4.31
	rec.Machine.Load, rec.Machine.Virtualised, rec.Machine.Counters = &load, "KVM", "not available (perf_event_open: permission denied)"
	return rec
}

// Sentences have no more digits than their intervals support, and say where the winner is not sure.
func TestAnswersOfARoughRun(t *testing.T) {
	rec := rough()
	text := strings.Join(sentences(casesOf(verdict.Analyze(rec), stages)), "\n")
	for _, want := range []string{"encode with msgp: it is about 8× cheaper than protobuf (6.2 to 9.4×)", " and about 9× cheaper than encoding/json", ", at about 600 ns", "but that is not sure: pbfast may be cheaper",
		"use webpush-go: it costs about", "no cheaper contender was found, but that is not sure: webpush may be cheaper"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestFiguresHaveTheDigitsThatAreSupported(t *testing.T) {
	none := math.Inf(1)
	for _, r := range []struct {
		value, low, high float64
		times, duration  string
	}{
		{7.1, 5.9, 8.6, "about 7×", "about 7 ns"},
		{2.66, 2.62, 2.70, "2.7×", "2.7 ns"},
		{38, 34, 43, "about 40×", "about 40 ns"},
		{1.86, 1.66, 1.98, "1.9×", "1.9 ns"},
		{1.16, 1.13, 1.19, "1.16×", "1.16 ns"},                   // 1.2 would be outside
		{1.3, 1.15, 1.45, "about 1.3×", "about 1.3 ns"},          // 1 would be outside
		{0.951, 0.93, 0.97, "0.95×", "0.95 ns"},                  // below a floor
		{3.04, 2.98, 3.1, "3.0×", "3 ns"},                        // as durations have no zeros at the end
		{142, 138, 146, "140×", "140 ns"},                        //
		{1507, 1500, 1515, "1,510×", "1.51 µs"},                  //
		{2.683, 2.68, 2.69, "2.7×", "2.68 ns"},                   // a factor has two digits from 2 on
		{1.934, 1.93, 1.94, "1.93×", "1.93 ns"},                  //
		{4036, math.Inf(-1), none, "about 4,000×", "about 4 µs"}, // too few blocks
		{75.4, math.Inf(-1), 80, "about 80×", "about 80 ns"},
		{0.2, 0, none, "about 0.2×", "about 0.2 ns"},
	} {
		x := verdict.Interval{Value: r.value, Low: r.low, High: r.high}
		if got := supported(x, timesIn); got != r.times {
			t.Errorf("%v: %q, want %q", x, got, r.times)
		}
		if got := supported(x, durationIn); got != r.duration {
			t.Errorf("%v: %q, want %q", x, got, r.duration)
		}
	}
}
