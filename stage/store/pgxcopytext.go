package store

import (
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgxCopyText sends the rows by COPY in text format, which the program writes itself, as pgx does
// not. Only this format and CSV have ON_ERROR, PostgreSQL 17's way to leave out rows that have a
// value of the wrong form: see https://www.postgresql.org/docs/current/sql-copy.html.
func pgxCopyText(ignore bool) *contender {
	data, options := "text", "format text"
	if ignore {
		data, options = "text/on-error=ignore", "format text, on_error ignore"
	}
	return copyOf(data, options, func(types *pgtype.Map, oids []uint32) copyRows {
		var scratch []byte
		return copyRows{row: func(buf []byte, values []any) (_ []byte, err error) {
			for i, v := range values {
				if i > 0 {
					buf = append(buf, '\t')
				}
				if text, ok := v.(string); ok {
					buf = appendEscaped(buf, text)
					continue
				}
				if scratch, err = types.Encode(oids[i], pgx.TextFormatCode, v, scratch[:0]); err != nil {
					return buf, err
				}
				buf = appendEscaped(buf, string(scratch))
			}
			return append(buf, '\n'), nil
		}}
	})
}

// appendEscaped appends a value with a backslash before what ends values and rows.
func appendEscaped(buf []byte, text string) []byte {
	plain := true
	for _, c := range []byte("\\\t\n\r") {
		plain = plain && strings.IndexByte(text, c) < 0
	}
	if plain {
		return append(buf, text...)
	}
	for _, c := range []byte(text) {
		if at := strings.IndexByte("\\\t\n\r", c); at >= 0 {
			buf, c = append(buf, '\\'), `\tnr`[at]
		}
		buf = append(buf, c)
	}
	return buf
}
