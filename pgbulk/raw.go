package pgbulk

import (
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// rawValue is a value as a server sent it, which decoding could change: a JSON null would be NULL,
// and an array lose its bounds. Its bytes last as long as its row.
type rawValue struct {
	bytes  []byte
	oid    uint32
	format int16
	m      *pgtype.Map // of the connection that it came over
}

// valuesOfRow are the values of a row, raw if the rows are a query's.
func valuesOfRow(rows pgx.CopyFromSource) ([]any, error) {
	query, ok := rows.(pgx.Rows)
	if !ok || query.Conn() == nil {
		return rows.Values()
	}
	fields, raw := query.FieldDescriptions(), query.RawValues()
	values := make([]any, len(raw))
	for i, v := range raw {
		if v != nil {
			values[i] = rawValue{v, fields[i].DataTypeOID, fields[i].Format, query.Conn().TypeMap()}
		}
	}
	return values, nil
}

// takesText reports whether text is a value of the column as it is.
func (c *column) takesText() bool {
	return c.shape == shapeText || c.shape == shapeJSON || c.shape == shapeJSONB || c.shape == shapeLabel
}

// valueFor is what is encoded for a column. Text is as good as a string of the program's; binary is
// decoded unless it is of the column's own type.
func (r rawValue) valueFor(c *column) (any, error) {
	switch {
	case r.format == textFormat && c.takesText() && c.shape != shapeLabel:
		return r.bytes, nil
	case r.format == textFormat:
		return string(r.bytes), nil
	case r.oid == c.oid && c.codecFormat() == binaryFormat:
		return r, nil
	}
	t, known := r.m.TypeForOID(r.oid)
	if !known {
		return slices.Clone(r.bytes), nil
	}
	return t.Codec.DecodeValue(r.m, r.oid, r.format, r.bytes)
}
