package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// optioned has a case that an option refines, one that another refines, and one that none does.
func optioned() Suite {
	none := func(context.Context, Env) (Instance, error) { return nil, errors.New("closed") }
	named := func(name string) Case {
		return Case{Name: "Post/" + name, Baseline: "who=a", Contenders: []Contender{{Name: "who=a", Checks: "nothing", Open: none}}}
	}
	return Suite{
		Stage: "post",
		Options: []Option{
			{Name: "inflight", Values: []string{"1", "8", "16"}},
			{Name: "loss", Values: []string{"0%", "2%", "5%"}, Default: []string{"0%", "2%"}},
		},
		Make: func(set Settings) []Case {
			return []Case{named("by=foot/inflight=" + set["inflight"]), named("by=air/loss=" + set["loss"]), named("by=sea")}
		},
	}
}

func namesOf(cases []Case) (names []string) {
	for _, c := range cases {
		names = append(names, strings.TrimPrefix(c.Name, "Post/"))
	}
	return names
}

// Each chosen value has cases of its own, and a case without the setting is there once. A value
// that the suite does not allow leaves the defaults.
func TestMade(t *testing.T) {
	for _, r := range []struct {
		choices Choices
		want    string
	}{
		{nil, "by=foot/inflight=1 by=air/loss=0% by=sea by=air/loss=2%"},
		{Choices{"inflight": {"16"}, "loss": {"5%"}}, "by=foot/inflight=16 by=air/loss=5% by=sea"},
		{Choices{"inflight": {"8", "16"}, "loss": {"5%"}}, "by=foot/inflight=8 by=air/loss=5% by=sea by=foot/inflight=16"},
		{Choices{"inflight": {"64"}, "loss": {"5%"}, "rows": {"7"}}, "by=foot/inflight=1 by=air/loss=5% by=sea"},
	} {
		if got := namesOf(optioned().Made(r.choices)); strings.Join(got, " ") != r.want {
			t.Errorf("%v: %q, want %s", r.choices, got, r.want)
		}
	}
}

// A worker and a resumed run make the cases of their rows by the rows' names.
func TestMadeByName(t *testing.T) {
	suites := []Suite{{Stage: "encode"}, optioned()}
	for _, row := range []string{"Post/by=foot/inflight=16/who=a", "Post/by=air/loss=5%/who=a", "Post/by=sea/who=control", "Post/by=foot/inflight=1/who=a"} {
		if e, ok := entry(suites, row); !ok || e.Row() != row {
			t.Errorf("%s: %v, %s", row, ok, e.Row())
		}
	}
	for _, row := range []string{"Post/by=foot/inflight=64/who=a", "Mail/by=sea/who=a"} {
		if _, ok := entry(suites, row); ok {
			t.Errorf("there is a row %s", row)
		}
	}
	got := namesOf(WithCases(suites, []string{"Post/by=foot/inflight=16", "Post/by=foot/inflight=8"})[1].Cases)
	for _, want := range []string{"by=foot/inflight=16", "by=foot/inflight=8", "by=sea"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %q", want, got)
		}
	}
}

// A pattern for a setting names the option's value.
func TestPatternOfAnOption(t *testing.T) {
	for pattern, want := range map[string]int{
		"Post/by=foot/inflight=16": 2,
		"inflight=8,16":            4,
		"/loss=5%/by=air/":         2,
		"loss=2%":                  2,
		"Post/by=air":              4,
		"by=foot/inflight=7":       0,
		"by=rail":                  0,
	} {
		suite := optioned()
		suite.Cases = suite.Made(suite.Named([]string{pattern}))
		found, err := Find([]Suite{suite}, []string{pattern})
		var h *Hinted
		if len(found) != want || want == 0 && (!errors.As(err, &h) || !strings.HasSuffix(h.Hint, allRows)) {
			t.Errorf("%s: %d rows, want %d; %v", pattern, len(found), want, err)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for want, change := range map[string]func(*Suite){
		"the suite has no Make":                func(s *Suite) { s.Make = nil },
		"has no values":                        func(s *Suite) { s.Options[0].Values = nil },
		"is not of the form key=value":         func(s *Suite) { s.Options[0].Values[1] = "a/b" },
		"has a default that it does not allow": func(s *Suite) { s.Options[1].Default = []string{"1%"} },
	} {
		suite := optioned()
		change(&suite)
		if err := Check([]Suite{suite}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := Check([]Suite{optioned()}); err != nil {
		t.Error(err)
	}
}
