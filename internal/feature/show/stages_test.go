package show

import (
	"postage/internal/verdict"
	"postage/record"
)

// stages say of the samples' figures what the stages of the program say of theirs, cut short.
var stages = []verdict.Stage{
	{Name: "encode", Figures: verdict.Figures{
		Spoken: func(name string) string {
			if keys := record.KeysOf(name); keys.Get("op") == "encode" || keys.Get("op") == "decode" {
				return "one " + keys.Get("msg") + ", " + keys.Get("op") + "d"
			}
			return ""
		},
	}},
}
