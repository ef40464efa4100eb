package seal

import (
	"postage/internal/verdict"
	"postage/record"
)

// figures describe the stage's figures: sealing is optional, and changes a message's size.
func figures() verdict.Figures {
	return verdict.Figures{
		Cost: &verdict.Cost{Step: "seal", Title: "sealed by", Without: "not sealed", Left: true, Of: func(row *record.Row) *verdict.Operation {
			if record.KeysOf(row.Case).Get("pad") == "" {
				return nil
			}
			return &verdict.Operation{Messages: 1, Client: "seal", Bytes: []string{record.EncodedBytes}, Whole: true}
		}},
	}
}
