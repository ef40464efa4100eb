package store

import (
	"strconv"

	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: an operation stores many messages, one in each row.
func figures() lab.Figures {
	return lab.Figures{
		Cost: &lab.Cost{Step: "store", Title: "stored by", Without: "not stored", Of: func(row *record.Row) *lab.Operation {
			keys := record.KeysOf(row.Case)
			if keys.Get("rows") == "" {
				return nil
			}
			op := &lab.Operation{Client: "store: client", Server: "store: database", Usual: row.Contender == "lib=pgx/call=exec"}
			var err error
			if op.Messages, err = strconv.ParseFloat(keys.Get("rows"), 64); err != nil || op.Messages < 1 {
				op.Why = "it does not say how many rows it writes"
			}
			if keys.Get("peer") == "sink" {
				op.Server, op.Note, op.Usual = "", " (client alone)", false
			}
			return op
		}},
	}
}
