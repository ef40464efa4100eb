package encode

import (
	"strings"

	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: a message on its way is encoded once and decoded once.
func figures() lab.Figures {
	return lab.Figures{
		Message: "msg", Does: "op",
		Verbs: map[string]string{
			"encode":       "encode",
			"decode":       "decode",
			"read-some":    "decode and read two fields",
			"decode-newer": "decode a newer program's message",
			"decode-older": "decode an older program's message",
			"forward":      "decode and encode again",
			"decode-reuse": "decode into a used message",
			"pack":         "pack",
			"validate":     "decode and validate",
			"check":        "check against rules",
		},
		Known: map[string]string{"codec=json": "encoding/json"},
		Cost: &lab.Cost{Step: "codec", Title: "codec", Message: "order", Of: func(row *record.Row) *lab.Operation {
			keys := record.KeysOf(row.Case)
			if keys.Get("op") != "encode" {
				return nil
			}
			return &lab.Operation{
				Message: keys.Get("msg"), Messages: 1, Client: "encode", Bytes: []string{record.EncodedBytes}, Usual: row.Contender == baseline,
				Beside: &lab.Beside{Case: strings.Replace(row.Case, "op=encode", "op=decode", 1), Client: "decode", Title: "decoding"},
			}
		}},
	}
}
