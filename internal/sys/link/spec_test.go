package link

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"rtt=20ms,loss=1%,rate=50mbit":     {RTT: 20 * time.Millisecond, Loss: 0.01, Rate: 50e6},
		"rtt=100ms,loss=0.05,burst=4":      {RTT: 100 * time.Millisecond, Loss: 0.05, Burst: 4},
		"rtt=0s,loss=0,rate=10mbit,cc=bbr": {Rate: 10e6, Congestion: "bbr"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%s is said as %s: %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "want rtt, loss, burst, rate or cc",
		"rtt=-1":                    "want a round-trip time",
		"rtt=-1ms":                  "want a round-trip time from 0s to 2s",
		"rtt=1h":                    "want a round-trip time",
		"loss=2":                    "want the part of packets to lose, from 0 to 0.5",
		"loss=NaN":                  "want the part of packets",
		"loss=-1%":                  "want the part of packets",
		"rate=5":                    "want bits a second",
		"rate=10gbit":               "to 500mbit, which is what this link can do",
		"rate=NaNmbit":              "want bits a second",
		"burst=4":                   "a burst without loss",
		"rtt=20ms,queue=100":        "want rtt, loss",
		"loss=1%,burst=0.5":         "want the packets that are lost in a row",
		"rtt=20ms,rtt=30ms":         "rtt is given twice",
		"cc=":                       "want a congestion control",
		"latency=20ms":              "want rtt, loss",
		"rtt=20ms;loss=1%":          "want a round-trip time",
		"rtt=20ms,rate=50mbit,jit":  "want rtt, loss",
		"rtt=20ms,loss=1%,rate=1e6": "want bits a second",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("rtt=20ms,loss=1%,burst=4,rate=50mbit,cc=bbr")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || math.Abs(again.Rate-s.Rate) > 1 || math.Abs(again.Loss-s.Loss) > 1e-6 || again.RTT != s.RTT {
			t.Errorf("%q is said as %s: %+v, %v", text, s, again, err)
		}
	})
}
