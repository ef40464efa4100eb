package show

import (
	"strings"

	"postage/internal/cost"
	"postage/record"
)

// stages say of the samples' figures what the stages of the program say of theirs, cut short.
var stages = []cost.Stage{
	{Name: "encode", Figures: cost.Figures{
		Message: "msg", Spoken: func(name string) string {
			if keys := record.KeysOf(name); keys.Get("op") == "encode" || keys.Get("op") == "decode" {
				return "one " + keys.Get("msg") + ", " + keys.Get("op") + "d"
			}
			return ""
		},
		Ends: func(row *record.Row) *cost.Ends {
			keys := record.KeysOf(row.Case)
			if keys.Get("op") != "encode" {
				return nil
			}
			return &cost.Ends{Message: keys.Get("msg"), Back: strings.Replace(row.Case, "op=encode", "op=decode", 1)}
		},
	}},
}
