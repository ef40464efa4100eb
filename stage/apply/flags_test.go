package apply

import (
	"slices"
	"strings"
	"testing"

	"postage/internal/service/apiserver"
	"postage/lab"
)

// A pattern that names a server, in any form, asks for the rows that it matches. Other patterns get
// the default server's.
func TestServersNamed(t *testing.T) {
	for pattern, want := range map[string][]string{
		"Apply/op=get/kind=configmap":                 {"generic"},
		"Apply/server=kcp/op=get/kind=configmap":      {"kcp"},
		"server=kcp,user/op=get/kind=configmap":       {"kcp", "user"},
		"Apply/op=get/kind=configmap/server!=generic": {"kcp", "kubernetes", "user"},
		"/server:kcp":          {"kcp"},
		"/op:get -/server:kcp": {"generic", "kubernetes", "user"},
	} {
		suite := Suite()
		entries, err := lab.Select([]lab.Suite{suite}, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		c := &lab.Choice{Entries: entries, Patterns: []string{pattern}}
		if err := suite.Choose(c); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		var servers []string
		for _, e := range c.Entries {
			_, name, named := strings.Cut(e.Case.Name, serverPart)
			name, _, _ = strings.Cut(name, "/")
			if named && !slices.Contains(servers, name) {
				servers = append(servers, name)
			}
		}
		slices.Sort(servers)
		if !slices.Equal(servers, want) {
			t.Errorf("%s: %q, want %q", pattern, servers, want)
		}
	}
}

// A first look has only the serializers if the server is not built. Asking for the server by name
// builds it.
func TestFirstLookWithoutServer(t *testing.T) {
	none := func(apiserver.Kind) bool { return false }
	generic := func(k apiserver.Kind) bool { return k == apiserver.Generic }
	for _, r := range []struct {
		name     string
		flags    serverFlags
		patterns []string
		built    func(apiserver.Kind) bool
		resumed  bool
		left     bool
	}{
		{"not built", serverFlags{}, nil, none, false, true},
		{"built", serverFlags{}, nil, generic, false, false},
		{"another is built", serverFlags{kind: "kcp"}, nil, generic, false, true},
		{"by name", serverFlags{}, []string{"apply"}, none, false, false},
		{"gone on with", serverFlags{}, nil, none, true, false},
	} {
		entries, err := lab.Select([]lab.Suite{Suite()}, r.patterns)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%d rows, %v", len(entries), err)
		}
		r.flags.built = r.built
		c := &lab.Choice{Entries: entries, Patterns: r.patterns, Resumed: r.resumed}
		if err := r.flags.choose(c); err != nil {
			t.Error(err)
		}
		onServer := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, serverPart) }
		if len(c.Entries) == 0 || slices.ContainsFunc(c.Entries, onServer) == r.left || (c.Note != "") != r.left {
			t.Errorf("%s: %d rows are left, and it says %q", r.name, len(c.Entries), c.Note)
		}
	}
}

// A first look on another server says that it has no rows there, and has only the serializers.
func TestFirstLookOfAnotherServer(t *testing.T) {
	entries, err := lab.Select([]lab.Suite{Suite()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &lab.Choice{Entries: entries}
	f := serverFlags{kubeconfig: "x"}
	onServer := func(e lab.Entry) bool { return strings.Contains(e.Case.Name, serverPart) }
	if err := f.choose(c); err != nil || slices.ContainsFunc(c.Entries, onServer) || !strings.Contains(c.Note, "the first look has no row of the API server user") {
		t.Errorf("%d rows, %q, %v", len(c.Entries), c.Note, err)
	}
}
