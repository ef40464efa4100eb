package apply

import (
	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures.
func figures() lab.Figures { return lab.Figures{Spoken: spoken} }

// spokenKinds and spokenOps are what a person calls the objects and what is done to them, as
// kubectl does: "ConfigMap created".
var (
	spokenKinds = map[string]string{
		"configmap": "ConfigMap", "clusterrole": "ClusterRole", "release": "Release",
	}
	spokenOps = map[string]string{
		crud: " life cycle", "create": " created", "get": " read", "update": " updated", "list100": "s listed", "encode": " encoded", "decode": " decoded",
	}
)

// spoken is a case as a person says it, of objects that have a name for that.
func spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	kind, op := spokenKinds[keys.Get("kind")], spokenOps[keys.Get("op")+keys.Get("serialize")]
	if kind == "" || op == "" {
		return ""
	}
	text := kind + op
	if n := keys.Get("inflight"); n != "" && n != "1" {
		text += ", " + n + " at once"
	}
	if keys.Get("limiter") != "" {
		text += ", limited"
	}
	if keys.Get("fsync") == "on" {
		text += ", synced"
	}
	if server := keys.Get("server"); server != "" && server != "generic" {
		text += ", " + server
	}
	return text
}
