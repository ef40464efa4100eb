package encode

import (
	"strings"

	"postage/internal/verdict"
	"postage/record"
)

// figures describe the stage's figures: a message on its way is encoded once and decoded once.
func figures() verdict.Figures {
	return verdict.Figures{
		Message: "msg", Does: "op",
		Verbs: map[string]string{
			"encode":       "encode",
			"decode":       "decode",
			"decode-reuse": "decode into a used message",
			"pack":         "pack",
			"validate":     "decode and validate",
		},
		Known: map[string]string{"codec=json": "encoding/json"},
		Cost: &verdict.Cost{Step: "codec", Title: "codec", Message: "order", Of: func(row *record.Row) *verdict.Operation {
			keys := record.KeysOf(row.Case)
			if keys.Get("op") != "encode" {
				return nil
			}
			return &verdict.Operation{
				Message: keys.Get("msg"), Messages: 1, Client: "encode", Bytes: []string{record.EncodedBytes}, Usual: row.Contender == baseline,
				Beside: &verdict.Beside{Case: strings.Replace(row.Case, "op=encode", "op=decode", 1), Client: "decode", Title: "decoding"},
			}
		}},
	}
}
