package build

import (
	"reflect"
	"testing"
)

func TestParseVariation(t *testing.T) {
	for text, want := range map[string]Variation{
		"GOGC=100,400":                 {Name: "GOGC", Values: []string{"100", "400"}},
		"GOEXPERIMENT=,nojsonv2":       {Name: "GOEXPERIMENT", Values: []string{"", "nojsonv2"}},
		"-ldflags=-X a.b=c,-X a.b=d@e": {Name: "-ldflags", Values: []string{"-X a.b=c", "-X a.b=d@e"}},
		"@main,@":                      {Values: []string{"main", ""}},
	} {
		if got, err := ParseVariation(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v: want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GOGC", "GOGC=100", "=1,2", "-=1,2", "@main", "@main,v2", "@a,@b,@", "example.org/m@v1,v2"} {
		if v, err := ParseVariation(text); err == nil {
			t.Errorf("%q is taken for %+v", text, v)
		}
	}
}

// What --vary takes is kept with the commits that revisions name.
func TestVariationText(t *testing.T) {
	for text, want := range map[string]string{
		"GOGC=100,400": "GOGC=100,400", "-tags=,purego": "-tags=,purego", "@main,@": "@c0ffee,@",
	} {
		v, err := ParseVariation(text)
		if err != nil {
			t.Fatal(err)
		}
		side := &Side{Source: &Source{Commit: "c0ffee"}}
		if got := (&Sides{v, []*Side{side, side}}).Text(); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := new(Sides).Text(); got != "" {
		t.Errorf("one side: %q", got)
	}
}

// Two Go releases are told, and one is not.
func TestToldOfGoReleases(t *testing.T) {
	for now, want := range map[string]int{"go1.24.1": 0, "go1.26.8": 1, "": 0} {
		sides := &Sides{All: []*Side{{Go: "go1.24.1"}, {Go: now}}}
		if told := sides.Told(); len(told) != want {
			t.Errorf("%q: %q", now, told)
		}
	}
}
