package build

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"postage/lab"
)

// If the go command lacks a newer Go, a hint says how to get it.
func TestToolchainHint(t *testing.T) {
	for said, want := range map[string]string{
		"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)":                                            "set GOTOOLCHAIN=auto, so that the go command downloads Go 1.99, or",
		"go: example.org/m@v1.2.3 requires go >= 1.27rc1 (running go 1.26.8; GOTOOLCHAIN=local)":                           "downloads Go 1.27rc1, or",
		"go: downloading go1.99.0 (linux/amd64)\ngo: download go1.99.0: golang.org/toolchain@v0.0.1: reading: 403":         "Go 1.99.0 could not be downloaded: install it",
		"go: download go1.99 for linux/amd64: toolchain not available":                                                     "Go 1.99 could not be downloaded",
		"go: go.mod requires go >= 1.99 (running go 1.24.1; GOTOOLCHAIN=go1.24.1)":                                         "set GOTOOLCHAIN=auto",
		"go: module . listed in go.work file requires go >= 1.26, but go.work lists go 1.24; to update it:\n\tgo work use": "",
		"go: module example.org/none: reading example.org/none/go.mod: 404":                                                "",
		"go: download example.org/none: 404":                                                                               "",
	} {
		var h *lab.Hinted
		err := new(Variation).wrap("", errors.New(said))
		if errors.As(err, &h) != (want != "") || h != nil && !strings.Contains(h.Hint, want) || err.Error() != said {
			t.Errorf("%s: %v, %+v", said, err, h)
		}
	}
}

func TestParseVariation(t *testing.T) {
	for text, want := range map[string]Variation{
		"GOGC=100,400":                 {Name: "GOGC", Values: []string{"100", "400"}},
		"GOEXPERIMENT=,nojsonv2":       {Name: "GOEXPERIMENT", Values: []string{"", "nojsonv2"}},
		"-ldflags=-X a.b=c,-X a.b=d@e": {Name: "-ldflags", Values: []string{"-X a.b=c", "-X a.b=d@e"}},
		"@main,@":                      {Values: []string{"main", ""}},
		"@v1,@v2,@v3":                  {Values: []string{"v1", "v2", "v3"}},
	} {
		if got, err := ParseVariation(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v: want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GOGC", "GOGC=100", "=1,2", "-=1,2", "@main", "@main,v2", "example.org/m@v1,v2"} {
		if v, err := ParseVariation(text); err == nil {
			t.Errorf("%q is taken for %+v", text, v)
		}
	}
}

// What --vary takes is kept with the commits that revisions name.
func TestVariationText(t *testing.T) {
	for text, want := range map[string]string{
		"GOGC=100,400": "GOGC=100,400", "-tags=,purego": "-tags=,purego", "@main,@": "@c0ffee,@", "@a,@b,@": "@c0ffee,@c0ffee,@",
	} {
		v, err := ParseVariation(text)
		if err != nil {
			t.Fatal(err)
		}
		side := &Side{Source: &Source{Commit: "c0ffee"}}
		if got := (&Sides{v, []*Side{side, side, side}}).Text(); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := new(Sides).Text(); got != "" {
		t.Errorf("one side: %q", got)
	}
}

// What differs between the modules of two sides is told.
func TestDifferences(t *testing.T) {
	if got, want := differences(map[string]string{"go": "go1.24.1", "a": "v1"}, map[string]string{"go": "go1.26.8", "b": "v2"}), "go go1.24.1 → go1.26.8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
