package store

import (
	"strings"

	"postage/record"
)

// spoken is a case as a person says it, if it is at the sink, or varies nothing but the rows and
// whether they exist.
func spoken(caseName string) string {
	keys := record.KeysOf(caseName)
	if keys.Get("op") == "direct" {
		return "one Bind of 16.5 MB"
	}
	rows := keys.Get("rows")
	if thousands, ok := strings.CutSuffix(rows, "000"); ok {
		rows = thousands + ",000"
	}
	number := strings.TrimRight(keys.Get("size"), "KMB")
	text := rows + " rows of " + number + " " + keys.Get("size")[len(number):]
	switch rest := keys.Without("rows", "size").Join("/"); rest {
	case "peer=sink/transport=unix":
		return text
	case "peer=sink/transport=tcp":
		return text + ", TCP"
	case "peer=postgres/phase=update/column=jsonb/compression=pglz/transport=unix/fsync=off":
		return text + ", updated"
	case "peer=postgres/phase=insert/column=jsonb/compression=pglz/transport=unix/fsync=off":
		return text + ", inserted"
	}
	return ""
}
