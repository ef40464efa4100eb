package pgbulk

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// readsAlike reports whether a text is one that pgx and the server are known to read alike for a
// type, so that it may be parsed here and sent in binary. pgx's scanners are more lenient than the
// server. That is harmless for text from the server, but here it would store a value that was not
// given: "X1F" as varbit, "10:99:99" as time. All other text is left for the server to read.
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
	case pgtype.DateOID:
		return moment("2006-01-02", text)
	case pgtype.TimeOID:
		return moment("15:04:05", text)
	case pgtype.TimestampOID:
		return moment("2006-01-02 15:04:05", text)
	case pgtype.TimestamptzOID:
		// Without a zone it would be the session's.
		return moment("2006-01-02 15:04:05Z07:00", text)
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

// moment reports whether a text is of a layout, all its numbers in range, with at most six digits
// of a fraction. PostgreSQL has no year 0.
func moment(layout, s string) bool {
	if _, fraction, ok := strings.Cut(s, "."); ok {
		if n := len(fraction) - len(strings.TrimLeft(fraction, "0123456789")); n < 1 || n > 6 {
			return false
		}
	}
	if strings.ContainsRune(s, ',') || strings.HasPrefix(s, "0000") && layout[0] == '2' {
		return false
	}
	at, err := time.Parse(layout, s)
	_, offset := at.Zone()
	return err == nil && max(offset, -offset) < 16*3600 // seconds: the server takes no larger zone
}
