package pgbulk

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// readsAlike reports whether a text is one that pgx and the server are known to read alike for a
// type, so that it may be parsed here and sent in binary. pgx's scanners are more lenient than the
// server. That is harmless for text from the server, but here it would store a value that was not
// given: "X1F" as varbit, "10:99:99" as time. All other text, dates and times too, the server reads.
func readsAlike(oid uint32, text string) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return len(text) < 20 && digits(strings.TrimPrefix(text, "-"))
	case pgtype.OIDOID:
		return len(text) < 11 && digits(text)
	case pgtype.Float4OID, pgtype.Float8OID:
		// No exponent: a number too small for the type is an error on the server, and 0 here.
		return len(text) < 32 && decimal(text)
	case pgtype.NumericOID:
		return len(text) < 1000 && decimal(text)
	case pgtype.BoolOID:
		return text == "t" || text == "f" || text == "true" || text == "false"
	case pgtype.UUIDOID:
		return uuid(text)
	case pgtype.ByteaOID:
		hex, ok := strings.CutPrefix(text, `\x`)
		return ok && len(hex)%2 == 0 && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
	}
	return false
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func decimal(s string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return digits(whole) && (!point || digits(fraction))
}

func uuid(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return strings.Trim(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:], "0123456789abcdefABCDEF") == ""
}
