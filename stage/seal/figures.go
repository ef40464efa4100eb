package seal

import (
	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: sealing is optional, and changes a message's size.
func figures() lab.Figures {
	return lab.Figures{
		Cost: &lab.Cost{Step: "seal", Title: "sealed by", Without: "not sealed", Left: true, Of: func(row *record.Row) *lab.Operation {
			if record.KeysOf(row.Case).Get("pad") == "" {
				return nil
			}
			return &lab.Operation{Messages: 1, Client: "seal", Bytes: []string{record.EncodedBytes}, Whole: true}
		}},
	}
}
