package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// What the values of a workload are.
const (
	dataLetters = ""      // the page's: integers as text, and a JSON document with a string of random letters
	dataJSON    = "json"  // the same with a document as services have them
	dataTyped   = "typed" // a value of each common type: int8, timestamptz, uuid, numeric, text
)

// workload is what one operation writes: rows of five values.
type workload struct {
	rows int
	size string // of a row, about, as it stands in names
	data string
	// letters is how many the document has, or bytes the JSON, or words a text has at most.
	letters int
}

// columns are the table's, in the order of a row's values. id is the key.
var columns = []string{"id", "colA", "colB", "colC", "colD"}

// columnsOf are the columns of rows of n values.
func columnsOf(n int) []string {
	names := slices.Clip(columns[:min(n, len(columns))])
	for i := len(names); i < n; i++ {
		names = append(names, fmt.Sprint("col", i))
	}
	return names
}

// types lists the types of the columns. colD has the given type, unless the workload has its own
// types.
func (w workload) types(column string) []string {
	if w.data == dataTyped {
		return []string{"int8", "timestamptz", "uuid", "numeric", "text"}
	}
	return []string{"varchar", "varchar", "varchar", "varchar", column}
}

// draw makes the rows. Rows of two versions have the same ids in the same order, and
// nothing else alike.
func (w workload) draw(seed, version uint64) [][]any {
	ids, values := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, version+1))
	words := newWriting(values)
	seen := make(map[string]bool, w.rows)
	rows := make([][]any, w.rows)
	letters := make([]byte, w.letters)
	for i := range rows {
		if w.data == dataTyped {
			rows[i] = w.typed(i, ids, words)
			continue
		}
		id := strconv.FormatInt(ids.Int64(), 10)
		for seen[id] {
			id = strconv.FormatInt(ids.Int64(), 10)
		}
		seen[id] = true
		var document string
		if w.data == dataJSON {
			document = words.document(w.letters)
		} else {
			drawLetters(values, letters)
			document = `{ "foo": "` + string(letters) + `" }`
		}
		number := func() string { return strconv.FormatInt(values.Int64(), 10) }
		rows[i] = []any{id, number(), number(), number(), document}
	}
	return rows
}

// drawLetters draws letters from a to z, four from each 64 bits: each process of a block draws
// millions.
func drawLetters(values *rand.Rand, letters []byte) {
	var bits uint64
	for i := range letters {
		if i%4 == 0 {
			bits = values.Uint64()
		}
		letters[i] = byte('a' + bits&0xffff*26>>16)
		bits >>= 16
	}
}

// typed is a row of typed values. Ids ascend with gaps, as a sequence gives them.
func (w workload) typed(i int, ids *rand.Rand, values *writing) []any {
	id := int64(1_000_000+10*i) + ids.Int64N(10)
	at := time.UnixMicro(1_600_000_000_000_000 + values.Int64N(100_000_000_000_000)).UTC()
	unique := pgtype.UUID{Valid: true}
	binary.BigEndian.PutUint64(unique.Bytes[:], values.Uint64())
	binary.BigEndian.PutUint64(unique.Bytes[8:], values.Uint64())
	price := pgtype.Numeric{Int: big.NewInt(100 + values.Int64N(10_000_000)), Exp: -2, Valid: true}
	return []any{id, at, unique, price, values.text(1 + values.IntN(w.letters))}
}

// textOf is a value as the table is read back.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.000000")
	case pgtype.UUID:
		return v.String()
	case pgtype.Numeric:
		digits := v.Int.String()
		return digits[:len(digits)+int(v.Exp)] + "." + digits[len(digits)+int(v.Exp):]
	}
	panic(fmt.Sprintf("store: no text for a %T", v))
}

// bytesOf is the length of all values together, as text.
func bytesOf(rows [][]any) (n int) {
	for _, row := range rows {
		for _, v := range row {
			n += len(textOf(v))
		}
	}
	return n
}

// digestOf is the digest of the table that holds these rows and no others. A jsonb column
// gives the page's documents back without the blanks that they came with.
func digestOf(rows [][]any, column string) []byte {
	texts := make([][]string, len(rows))
	for i, row := range rows {
		for _, v := range row {
			texts[i] = append(texts[i], textOf(v))
		}
	}
	slices.SortFunc(texts, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	d := digest{sha256.New()}
	for _, row := range texts {
		for i, s := range row {
			if rest, blank := strings.CutPrefix(s, `{ "foo": `); blank && i == 4 && column == "jsonb" {
				s = `{"foo": ` + strings.TrimSuffix(rest, " }") + "}"
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
func (t *target) statements() []statement {
	var list []statement
	for chunk := range slices.Chunk(t.rows, maxParameters/len(t.types)) {
		sql := t.write("upsert", "values "+t.placeholders("upsert", len(chunk)))
		list = append(list, statement{sql, slices.Concat(chunk...)})
	}
	return list
}

// quoted is a list of columns.
func quoted(columns []string) string { return `"` + strings.Join(columns, `", "`) + `"` }

// updating is the clause that updates the row that has the key.
func updating(columns []string) string {
	var set []string
	for _, c := range columns[1:] {
		set = append(set, fmt.Sprintf("%q = excluded.%[1]q", c))
	}
	return " on conflict (id) do update set " + strings.Join(set, ", ")
}
