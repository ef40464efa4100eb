package profile

import (
	"bytes"
	"testing"

	"postage/internal/kit/report"
	"postage/internal/test/reporttest"
	"postage/internal/verdict"
)

// profiled is a summary with one of everything that a report must show.
func profiled() *Summary {
	number := func(x float64) *float64 { return &x }
	around := func(x float64) verdict.Interval { return verdict.Interval{Value: x, Low: 0.9 * x, High: 1.1 * x} }
	decode := Key{Stage: "encode", Does: "decode", Operation: "JSON"}
	http := Part{Key: Key{Stage: "send", Operation: "HTTP"}, Share: around(0.2), Garbage: number(0.01)}
	s := &Summary{
		Version: 2, Profiled: Profiled{CPUSeconds: 186, Cores: number(6.2), Samples: 18_600, Profiles: 2, Allocated: number(3e9)},
		Shares:    Shares{Messages: around(0.41), Garbage: around(0.14), MessagesGarbage: number(0.61), Own: around(0.29), Others: around(0.04), Runtime: around(0.119), Unknown: around(0.001)},
		Parts:     []Part{http, {Key: decode, Share: around(0.125), Garbage: number(0.04)}},
		Libraries: []Part{{Key: Key{Stage: "other", Operation: "logging"}, Share: around(0.04)}},
		Sites: []Site{
			{Part: http, Library: "net/http"},
			{Part: Part{Key: decode, Share: around(0.118), Garbage: number(0.039)}, Library: "encoding/json", Function: "example.com/shop/orders.(*Server).CreateOrder", Package: "example.com/shop/orders",
				Message: "Order", Now: "codec=json", Check: "postage bring FILE.proto --message Order --sample FILE",
				Savings: []Saving{
					{Contender: "codec=pbfast/hook=yes", Format: "protobuf", Saves: around(0.096), Cores: number(0.6)},
					{Contender: "codec=jsonv2", Saves: around(0.004), Cores: number(0.02)}}},
			{Part: Part{Key: Key{Stage: "store", Operation: "PostgreSQL"}, Share: around(0.05)}, Library: "github.com/jackc", Function: "main.save", Package: "main", Unpredicted: "the record is of Order"},
			{Part: Part{Key: decode, Share: around(0.007), Garbage: number(0.001)}, Library: "encoding/json", Function: "main.config", Package: "main"},
		},
	}
	return s
}

// Without a record nothing is predicted, and the commands that make one are said.
func TestProfileNext(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, profiled(), report.Form{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "profile-next.txt", out.Bytes())
}

// A summary in a terminal of 80 columns, wide, as Markdown and as JSON.
func TestProfile(t *testing.T) {
	for name, form := range map[string]report.Form{"profile.txt": {}, "profile-wide.txt": {Wide: true}, "profile.md": {Markdown: true}, "profile.json": {JSON: true}} {
		var out bytes.Buffer
		s := profiled()
		s.from = ".postage/runs/latest"
		if err := Print(&out, s, form); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if n := len([]rune(string(line))); name == "profile.txt" && n > report.TextWidth+1 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		reporttest.Golden(t, name, out.Bytes())
	}
}
