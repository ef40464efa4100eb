package seal

import (
	"postage/record"
	"postage/verdict"
)

// figures say what the stage's mean: a message may be sealed, and is then of another size.
func figures() verdict.Figures {
	return verdict.Figures{
		Slice: "slice",
		Cost: &verdict.Cost{Step: "seal", Title: "sealed by", Without: "not sealed", Left: true, Of: func(row *record.Row) *verdict.Operation {
			if record.KeysOf(row.Case).Get("pad") == "" {
				return nil
			}
			return &verdict.Operation{Messages: 1, Client: "seal", Bytes: []string{record.EncodedBytes}, Whole: true}
		}},
	}
}
