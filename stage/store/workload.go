package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// workload is what one operation writes: rows of five values, id and three columns of
// random decimal integers as text, and a JSON document with a string of random letters.
type workload struct {
	rows    int
	size    string // of a row, about, as it stands in names
	letters int
}

// columns are the table's, in the order of a row's values. id is the key.
var columns = []string{"id", "colA", "colB", "colC", "colD"}

// draw makes the rows. Rows of two versions have the same ids in the same order, and
// nothing else alike.
func (w workload) draw(seed, version uint64) [][]any {
	ids, values := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, version+1))
	seen := make(map[string]bool, w.rows)
	rows := make([][]any, w.rows)
	letters := make([]byte, w.letters)
	for i := range rows {
		id := strconv.FormatInt(ids.Int64(), 10)
		for seen[id] {
			id = strconv.FormatInt(ids.Int64(), 10)
		}
		seen[id] = true
		for j := range letters {
			letters[j] = byte('a' + values.IntN(26))
		}
		number := func() string { return strconv.FormatInt(values.Int64(), 10) }
		rows[i] = []any{id, number(), number(), number(), `{ "foo": "` + string(letters) + `" }`}
	}
	return rows
}

// bytesOf is the length of all values together.
func bytesOf(rows [][]any) (n int) {
	for _, row := range rows {
		for _, v := range row {
			n += len(v.(string))
		}
	}
	return n
}

// digestOf is the digest of the table that holds these rows and no others. A jsonb column
// gives its documents back without the blanks that they came with.
func digestOf(rows [][]any, column string) []byte {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	d := digest{sha256.New()}
	for _, row := range sorted {
		for i, v := range row {
			s := v.(string)
			if i == 4 && column == "jsonb" {
				s = `{"foo": ` + s[len(`{ "foo": `):len(s)-len(` }`)] + `}`
			}
			d.add([]byte(s))
		}
	}
	return d.Sum(nil)
}

// digest sums up values with their lengths, so that no two lists of values are alike.
type digest struct{ hash.Hash }

func (d digest) add(value []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(value)))
	d.Write(size[:])
	d.Write(value)
}

// statement is an INSERT with its arguments.
type statement struct {
	sql  string
	args []any
}

// maxParameters is how many a Bind message can have; its count is a 16-bit number.
const maxParameters = 65535

// statements are the rows as INSERT ... VALUES ... ON CONFLICT DO UPDATE, the page's
// statement, with as many rows in each as the protocol allows.
func statements(table string, rows [][]any) []statement {
	var list []statement
	for chunk := range slices.Chunk(rows, maxParameters/len(columns)) {
		sql := []byte("insert into " + table + " (" + quoted() + ") values ")
		args := make([]any, 0, len(chunk)*len(columns))
		for i, row := range chunk {
			for j, value := range row {
				switch {
				case j > 0:
					sql = append(sql, ", $"...)
				case i > 0:
					sql = append(sql, "), ($"...)
				default:
					sql = append(sql, "($"...)
				}
				args = append(args, value)
				sql = strconv.AppendInt(sql, int64(len(args)), 10)
			}
		}
		list = append(list, statement{string(sql) + ")" + onConflict, args})
	}
	return list
}

// quoted is the list of columns.
func quoted() string { return `"` + strings.Join(columns, `", "`) + `"` }

// onConflict updates the row that has the key.
const onConflict = ` on conflict (id) do update set "colA" = excluded."colA", "colB" = excluded."colB", "colC" = excluded."colC", "colD" = excluded."colD"`
