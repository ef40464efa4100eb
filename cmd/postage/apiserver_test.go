package main

import (
	"slices"
	"testing"

	"postage/lab"
	"postage/service/apiserver"
	"postage/stage"
)

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
