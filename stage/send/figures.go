package send

import (
	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: an exchange of a hello carries a message, whose bytes are
// added to its own.
func figures() lab.Figures {
	return lab.Figures{
		Together: networkSays, Map: networkCell,
		Cost: &lab.Cost{Step: "send", Title: "sent by", Without: "not sent", Of: func(row *record.Row) *lab.Operation {
			keys := record.KeysOf(row.Case)
			op := &lab.Operation{
				Messages: 1, Client: "send: client", Server: "send: server", Bytes: []string{record.WireOut, record.WireIn}, Carries: true,
				Group: "slice=" + keys.Get("slice") + " tls=" + keys.Get("tls"), Usual: keys.Get("tls") == "on" && keys.Get("reuse") == "yes",
			}
			// It would be counted in addition to the message that was chosen.
			if size := row.Settings["size"]; size != "" && size != "hello" {
				op.Why = "it carries " + size + " of its own"
			}
			if answer := row.Settings["answer"]; answer != "" {
				op.Why = "it brings an answer of " + answer
			}
			return op
		}},
	}
}
