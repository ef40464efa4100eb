package send

import (
	"strings"

	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures: an exchange of a hello carries a message, whose bytes are
// added to its own.
func figures() lab.Figures {
	return lab.Figures{
		Spoken: spoken, Together: networkSays,
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

// spoken is a case as a person says it. Those of the slice network are shown by their name.
func spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	over := "new "
	if keys.Get("reuse") == "yes" {
		over = "kept "
	}
	if keys.Get("tls") == "off" {
		over += "TCP"
	} else {
		over += "TLS"
	}
	switch keys.Get("slice") {
	case "page":
		return "a hello, " + over
	case "tls":
		return "a hello, TLS or not"
	case "reuse":
		return "a hello, kept or " + over
	case "body":
		return "1k of JSON or protobuf"
	case "cert":
		return "a hello, each certificate"
	case "resume":
		return "a hello, resumed or new"
	case "size":
		return strings.Replace(keys.Get("size"), "hello", "a hello", 1) + " each way"
	case "inflight":
		return strings.Replace("hellos, "+keys.Get("inflight")+" on "+keys.Get("conns")+" connections", " 1 connections", " 1 connection", 1)
	}
	return ""
}
