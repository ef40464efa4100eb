package report

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
		Cost: &cost.Cost{Step: "codec", Title: "codec", Message: "order", Of: func(row *record.Row) *cost.Operation {
			keys := record.KeysOf(row.Case)
			if keys.Get("op") != "encode" {
				return nil
			}
			return &cost.Operation{Message: keys.Get("msg"), Messages: 1, Client: "encode", Bytes: []string{record.EncodedBytes}, Usual: row.Contender == "codec=protobuf",
				Beside: &cost.Beside{Case: strings.Replace(row.Case, "op=encode", "op=decode", 1), Client: "decode", Title: "decoding"}}
		}},
	}},
	{Name: "seal", Figures: cost.Figures{
		Cost: &cost.Cost{Step: "seal", Title: "sealed by", Without: "not sealed", Left: true, Of: func(row *record.Row) *cost.Operation {
			return &cost.Operation{Messages: 1, Client: "seal", Bytes: []string{record.EncodedBytes}, Whole: true}
		}},
	}},
	{Name: "send", Figures: cost.Figures{
		Cost: &cost.Cost{Step: "send", Title: "sent by", Without: "not sent", Of: func(row *record.Row) *cost.Operation {
			keys := record.KeysOf(row.Case)
			op := &cost.Operation{Messages: 1, Client: "send: client", Server: "send: server", Bytes: []string{record.WireOut, record.WireIn}, Carries: true,
				Group: "slice=" + keys.Get("slice") + " tls=" + keys.Get("tls"), Usual: keys.Get("tls") == "on" && keys.Get("reuse") == "yes"}
			if size := row.Settings["size"]; size != "" && size != "hello" {
				op.Why = "it carries " + size + " of its own"
			}
			return op
		}},
	}},
	{Name: "store", Figures: cost.Figures{
		Cost: &cost.Cost{Step: "store", Title: "stored by", Without: "not stored", Of: func(row *record.Row) *cost.Operation {
			op := &cost.Operation{Messages: 1000, Client: "store: client", Server: "store: database", Usual: row.Contender == "lib=pgx/call=exec"}
			if record.KeysOf(row.Case).Get("peer") == "sink" {
				op.Server, op.Note, op.Usual = "", " (client alone)", false
			}
			return op
		}},
	}},
}
