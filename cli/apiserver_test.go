package cli

import (
	"slices"
	"strings"
	"testing"

	"postage/lab"
	"postage/service/apiserver"
	"postage/stage"
)

// Who names a server in a pattern, in whichever way, has asked for the rows that the pattern matches; the others have the
// default server's.
func TestServersNamed(t *testing.T) {
	for pattern, want := range map[string][]string{
		"Apply/op=get/kind=configmap":                 {"generic"},
		"Apply/server=kcp/op=get/kind=configmap":      {"kcp"},
		"server=kcp,user/op=get/kind=configmap":       {"kcp", "user"},
		"Apply/op=get/kind=configmap/server!=generic": {"kcp", "user"},
		"/server:kcp":          {"kcp"},
		"/op:get -/server:kcp": {"generic", "user"},
	} {
		entries, err := lab.Select(stage.Suites(), []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		entries, err = new(apiserverFlags).chosen(entries, []string{pattern})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		var servers []string
		for _, e := range entries {
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

// A first look leaves the stage out where its server is not built, and nothing else; who asks for it by name has it
// built.
func TestFirstLookWithoutServer(t *testing.T) {
	first, err := lab.Select(stage.Suites(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ofApply := func(e lab.Entry) bool { return e.Stage == applyStage }
	if !slices.ContainsFunc(first, ofApply) {
		t.Error("the first look has nothing of the stage apply")
	}
	unbuilt := func(apiserver.Kind) bool { return false }
	for _, r := range []struct {
		name     string
		flags    apiserverFlags
		patterns []string
		built    func(apiserver.Kind) bool
		left     bool
	}{
		{"not built", apiserverFlags{}, nil, unbuilt, true},
		{"built", apiserverFlags{}, nil, func(k apiserver.Kind) bool { return k == apiserver.Generic }, false},
		{"another is built", apiserverFlags{kind: "kcp"}, nil, func(k apiserver.Kind) bool { return k == apiserver.Generic }, true},
		{"by name", apiserverFlags{}, []string{"apply"}, unbuilt, false},
		{"a cluster of the user's", apiserverFlags{kubeconfig: "x"}, nil, unbuilt, false},
	} {
		kept, left := r.flags.withoutUnbuilt(first, r.patterns, r.built)
		if left != r.left || slices.ContainsFunc(kept, ofApply) == left {
			t.Errorf("%s: left out %v", r.name, left)
		}
		if !slices.ContainsFunc(kept, func(e lab.Entry) bool { return !ofApply(e) }) {
			t.Errorf("%s: the other stages are left out", r.name)
		}
	}
}
