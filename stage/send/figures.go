package send

import (
	"strings"

	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures.
func figures() lab.Figures { return lab.Figures{Spoken: spoken} }

// spoken is a case as a person says it.
func spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	connection := "new "
	if keys.Get("reuse") == "yes" {
		connection = "kept "
	}
	if keys.Get("tls") == "off" {
		connection += "TCP"
	} else {
		connection += "TLS"
	}
	switch keys.Get("slice") {
	case "page":
		return "a hello, " + connection
	case "tls":
		return "a hello, TLS or not"
	case "reuse":
		return "a hello, kept or " + connection
	case "body":
		return "1k of JSON or protobuf"
	case "cert":
		return "a hello, each certificate"
	case "resume":
		return "a hello, resumed or new"
	case "size":
		return strings.Replace(keys.Get("size"), "hello", "a hello", 1) + " each way"
	case "answer":
		return strings.Replace(keys.Get("inflight")+" answers of "+keys.Get("answer"), "1 answers", "an answer", 1)
	case "inflight":
		return strings.Replace("hellos, "+keys.Get("inflight")+" on "+keys.Get("conns")+" connections", " 1 connections", " 1 connection", 1)
	}
	return ""
}
