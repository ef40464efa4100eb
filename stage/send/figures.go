package send

import (
	"strings"

	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures.
func figures() lab.Figures { return lab.Figures{Spoken: spoken, Together: networkSays} }

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
