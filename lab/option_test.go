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
			{Name: "loss", Values: []string{"0%", "2%", "5%"}, Default: []string{"0%", "2%"}, Flag: "lost"},
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

// A pattern for a setting that an option gives says which flag to give.
func TestPatternOfAnOption(t *testing.T) {
	for pattern, want := range map[string]string{
		"Post/by=foot/inflight=16": "give --inflight 16",
		"inflight=8,16":            "give --inflight 8,16",
		"loss=5%/by=air":           "give --lost 5%",
		"by=foot/inflight=7":       "did you mean inflight=1? " + allRows,
		"by=rail":                  allRows,
	} {
		for name, find := range map[string]func([]Suite, []string) ([]Entry, error){"Select": Select, "Find": Find} {
			_, err := find([]Suite{optioned()}, []string{pattern})
			var h *Hinted
			if !errors.As(err, &h) || !strings.HasSuffix(h.Hint, want) {
				t.Errorf("%s %s: %v, hint %+v, want %q", name, pattern, err, h, want)
			}
		}
	}
	if found, err := Find([]Suite{optioned()}, []string{"loss=2%"}); err != nil || len(found) != 2 {
		t.Errorf("a default value: %d rows, %v", len(found), err)
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
