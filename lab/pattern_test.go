package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func suites() []Suite {
	var s Suite
	s.Stage = "encode"
	for _, name := range []string{"Encode/msg=order/op=encode", "Encode/msg=order/op=decode", "Encode/msg=tiny/op=encode"} {
		s.Cases = append(s.Cases, Case{Name: name, Headline: strings.Contains(name, "order"), Baseline: "codec=protobuf", Contenders: []Contender{
			contender("codec=protobuf", sound), contender("codec=json", sound), contender("codec=json/reuse=no", sound), contender("codec=jsonv2", sound),
			{Name: "floor=memcpy", Floor: true, Checks: "nothing"},
		}})
	}
	return []Suite{s, {Stage: "seal", Cases: []Case{{Name: "Seal/mode=strict", Headline: true, Baseline: "lib=webpush", Contenders: []Contender{contender("lib=webpush", sound)}}}}}
}

func names(entries []Entry) string {
	var s []string
	for i := range entries {
		s = append(s, entries[i].Row())
	}
	return strings.Join(s, " ")
}

func TestMatch(t *testing.T) {
	const order, tiny = "Encode/msg=order/op=encode/", "Encode/msg=tiny/op=encode/"
	for _, r := range []struct {
		patterns, want string
	}{
		{"Seal", "Seal/mode=strict/lib=webpush Seal/mode=strict/lib=control"},
		{"seal", "Seal/mode=strict/lib=webpush Seal/mode=strict/lib=control"},
		{"mode=strict/lib=webpush", "Seal/mode=strict/lib=webpush"},
		{"Encode/op=encode/codec=json", order + "codec=json " + order + "codec=json/reuse=no " + tiny + "codec=json " + tiny + "codec=json/reuse=no"},
		{"op=encode/codec=json*/reuse!=no", order + "codec=json " + order + "codec=jsonv2 " + tiny + "codec=json " + tiny + "codec=jsonv2"},
		{"msg=tiny/codec=jsonv?,control", tiny + "codec=control " + tiny + "codec=jsonv2"},
		{"msg=tiny/codec=jsonv2 Seal/lib=control", tiny + "codec=jsonv2 Seal/mode=strict/lib=control"},
		{"/msg=tiny/codec=control/", tiny + "codec=control"},
		{"/codec:(jsonv2|OR|control)|/msg:tiny", tiny + "codec=control " + tiny + "codec=jsonv2"},
	} {
		var patterns []string
		for p := range strings.FieldsSeq(r.patterns) {
			patterns = append(patterns, strings.ReplaceAll(p, "|", " "))
		}
		got, err := Find(suites(), patterns)
		if err != nil {
			t.Errorf("%s: %v", r.patterns, err)
		} else if names(got) != r.want {
			t.Errorf("%s:\n got %s\nwant %s", r.patterns, names(got), r.want)
		}
	}
}

func TestUnknownPatternNamesWhatIsNear(t *testing.T) {
	for _, r := range []struct{ pattern, reason, hint string }{
		{"codec=protobff", `no row has "codec=protobff"`, "codec=protobuf"},
		{"Encod", `no row has "Encod"`, "Encode"},
		{"protobuf", `no row has "protobuf"`, "codec=protobuf"},
		{"op=encode/codec=jsonx", `no row has "codec=jsonx"`, "codec=json"},
		{"mode=strict/op=encode", "no row has all of its parts", "postage list"},
		{"codec=", "an empty part", "a stage or key=value"},
		{"", "an empty part", "a stage or key=value"},
		{"/codec:(", "", ""},
		{"/codec:nothing", "no row has all", "postage list"},
		{"zzzzzzzzzz", `no row has "zzzzzzzzzz"`, "postage list"},
	} {
		_, err := Find(suites(), []string{r.pattern})
		var p *Hinted
		if !errors.As(err, &p) {
			t.Errorf("%q: error %v", r.pattern, err)
		} else if !strings.Contains(p.Error(), r.reason) || !strings.Contains(p.Hint, r.hint) {
			t.Errorf("%q: reason %q, hint %q", r.pattern, p.Error(), p.Hint)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{"Encode", "codec=a*,b", "a!=b/c", "/x:(a OR b)", "=", "[", `\`, "a=[b"} {
		f.Add(p)
	}
	all := suites()
	f.Fuzz(func(t *testing.T, pattern string) {
		if got, err := Find(all, []string{pattern}); err == nil && len(got) == 0 {
			t.Errorf("%q matches nothing and is no error", pattern)
		}
	})
}

func TestSelectBringsCompany(t *testing.T) {
	selected, err := Select(suites(), []string{"msg=tiny/codec=jsonv2"})
	if err != nil {
		t.Fatal(err)
	}
	const c = "Encode/msg=tiny/op=encode/"
	if want := c + "codec=protobuf " + c + "codec=control " + c + "codec=jsonv2 " + c + "floor=memcpy"; names(selected) != want {
		t.Errorf("got %s", names(selected))
	}
	first, _ := Select(suites(), nil)
	for _, e := range first {
		if !e.FirstLook() {
			t.Errorf("the first look has %s", e.Row())
		}
	}
	some := suites()
	some[0].Cases[0].First = []string{"codec=json"}
	some[0].Cases = some[0].Cases[:1]
	first, _ = Select(some[:1], nil)
	const order = "Encode/msg=order/op=encode/"
	if want := order + "codec=protobuf " + order + "codec=control " + order + "codec=json"; names(first) != want {
		t.Errorf("of some contenders the first look has %s", names(first))
	}
	some[0].Cases[0].First[0] = "codec=jsn"
	if err := Check(some); err == nil || !strings.Contains(err.Error(), `"codec=jsn", of its first look, is not one of its contenders`) {
		t.Errorf("a name that there is not: %v", err)
	}
	all, _ := Select(suites(), []string{"all"})
	if len(all) != len(Entries(suites())) {
		t.Errorf("all: %d rows", len(all))
	}
}

func TestCheck(t *testing.T) {
	if err := Check(suites()); err == nil || !strings.Contains(err.Error(), "floor=memcpy") {
		t.Errorf("a contender without Open: %v", err)
	}
	good := func() []Suite {
		return []Suite{{Stage: "seal", Cases: []Case{{Name: "Seal/mode=a", Baseline: "lib=a", Contenders: []Contender{contender("lib=a", sound), contender("lib=b", sound)}}}}}
	}
	if err := Check(good()); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(*Suite){
		"stage":     func(s *Suite) { s.Cases[0].Name = "Send/mode=a" },
		"baseline":  func(s *Suite) { s.Cases[0].Baseline = "lib=c" },
		"twice":     func(s *Suite) { s.Cases[0].Contenders[1].Name = "lib=a" },
		"key=value": func(s *Suite) { s.Cases[0].Contenders[1].Name = "b" },
		"suffix":    func(s *Suite) { s.Cases[0].Contenders[1].Name = "lib=b-2" },
		"checks":    func(s *Suite) { s.Cases[0].Contenders[1].Checks = "" },
	} {
		s := good()
		spoil(&s[0])
		if Check(s) == nil {
			t.Errorf("%s: passed", what)
		}
	}
}

func TestPlanFitsTheBudget(t *testing.T) {
	entries := Entries(suites())
	last := goals[len(goals)-1]
	six, two := time.Duration(last.blocks)*estimated(6, 0, last.rounds), time.Duration(last.blocks)*estimated(2, 0, last.rounds)
	for budget, left := range map[time.Duration]int{time.Hour: 0, 3*six + two: 0, 3*six + two - 1: 1, 3 * six: 1, 3*six - 1: 2, 2*six - 1: 2, time.Millisecond: 3} {
		p := NewPlan(entries, budget)
		if got := len(byCase(p.Left)); got != left || len(p.Entries)+len(p.Left) != len(entries) {
			t.Errorf("%v: %d cases left out, want %d: %s", budget, got, left, p.Describe(budget))
		}
	}
	small := NewPlan(entries, six)
	if s := small.Describe(six); !strings.Contains(s, small.Left[0].Case.Name) || !strings.Contains(s, "--budget") {
		t.Errorf("says %q", s)
	}
	slow := slices.Clone(entries)
	first := *entries[0].Case
	first.Batch = 10 * time.Second
	for i := range slow {
		if slow[i].Case == entries[0].Case {
			slow[i].Case = &first
		}
	}
	if p := NewPlan(slow, 3*time.Minute); len(byCase(p.Left)) != 1 || p.Left[0].Case != slow[0].Case {
		t.Errorf("a slow case before fast ones: %s", p.Describe(3*time.Minute))
	}
	rapid.Check(t, func(t *rapid.T) {
		budget := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "budget"))
		p := NewPlan(entries, budget)
		if len(p.All()) != len(entries) {
			t.Fatalf("%v: rows were lost", budget)
		}
	})
}
