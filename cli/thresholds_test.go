package cli

import (
	"reflect"
	"strings"
	"testing"

	"postage/internal/verdict"
)

func TestThresholds(t *testing.T) {
	got, err := parseThresholds([]byte("time: 7.5%\nbytes: 0.01\nmetrics: {hits/op: 5%}\n"), verdict.DefaultThresholds())
	if want := (verdict.Thresholds{Time: 0.075, Bytes: 0.01, Instructions: 0.03, Metrics: map[string]float64{"hits/op": 0.05}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "allocs: 0\n"} {
		if got, err := parseThresholds([]byte(text), verdict.DefaultThresholds()); err != nil || !reflect.DeepEqual(got, verdict.DefaultThresholds()) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"tme: 5%": "tme", "time: fast": "want a percentage", "time: -1": "want a percentage", "time: 0": "must be above 0%", "time: [1]": "want a percentage", "time: NaN": "want a percentage",
	} {
		if _, err := parseThresholds([]byte(text), verdict.DefaultThresholds()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzThresholds(f *testing.F) {
	f.Add([]byte("time: 5%\nallocs: 0\nbytes: 0\nsize: 0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if th, err := parseThresholds(text, verdict.DefaultThresholds()); err == nil && (!(th.Time > 0) || th.Allocs < 0 || th.Bytes < 0 || th.Size < 0) {
			t.Errorf("%q: %+v", text, th)
		}
	})
}
