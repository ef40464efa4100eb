package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchfmt"
)

const preamble = `# Postage record. It is in the Go benchmark format: benchstat reads it as it stands.
# Lines that begin with # and a word hold, as JSON, what that format has no word for.
`

// WriteTo writes the record in its file format.
func (r *Record) WriteTo(w io.Writer) (int64, error) {
	var text bytes.Buffer
	var failed error
	body := json.NewEncoder(&text)
	tagged := func(tag string, v any) {
		text.WriteString("#" + tag + " ")
		if err := body.Encode(v); err != nil && failed == nil {
			failed = fmt.Errorf("record: #%s line: %w", tag, err)
		}
	}
	text.WriteString(preamble)
	tagged("run", r.Run)
	tagged("machine", r.Machine)
	rows := make(map[string]*Row, len(r.Rows))
	for i := range r.Rows {
		tagged("row", &r.Rows[i])
		rows[r.Rows[i].Name] = &r.Rows[i]
	}
	results := benchfmt.NewWriter(&text)
	for i := range r.Blocks {
		block := &r.Blocks[i]
		tagged("block", block)
		for j := range block.Series {
			series := &block.Series[j]
			row := rows[series.Row]
			if row == nil {
				return 0, fmt.Errorf("record: a series of %s, which is not a row of the record", series.Row)
			}
			tagged("batches", series)
			if err := results.Write(r.result(row, series)); err != nil && failed == nil {
				failed = fmt.Errorf("record: %w", err)
			}
		}
	}
	tagged("end", end{Lines: bytes.Count(text.Bytes(), []byte("\n")) + 1, CRC32: crc32.ChecksumIEEE(text.Bytes())})
	if failed != nil {
		return 0, failed
	}
	return text.WriteTo(w)
}

// end is the last line of a record; Lines counts it too. CRC32 is the IEEE checksum of
// all text before it.
type end struct {
	Lines int    `json:"lines"`
	CRC32 uint32 `json:"crc32"`
}

// result is the line of the Go benchmark format for a row's block. Its sample is what
// benchstat works on: the median over the rounds.
func (r *Record) result(row *Row, series *Series) *benchfmt.Result {
	name := row.Name
	procs := r.Run.GOMAXPROCS
	if r.Run.World != nil && row.Value == ValueCost {
		procs = r.Run.World.Procs
	}
	if procs > 1 {
		name = fmt.Sprintf("%s-%d", name, procs)
	}
	result := &benchfmt.Result{Name: benchfmt.Name(name), Iters: row.N * len(series.WallNS)}
	for _, c := range [][2]string{{"goos", r.Machine.GOOS}, {"goarch", r.Machine.GOARCH}, {"cpu", r.Machine.CPU}} {
		if c[1] != "" {
			result.SetConfig(c[0], c[1])
			i, _ := result.ConfigIndex(c[0])
			result.Config[i].File = true
		}
	}
	add := func(value float64, unit string) {
		result.Values = append(result.Values, benchfmt.Value{Value: value, Unit: unit})
	}
	add(median(series.NSPerOp(row.N)), "ns/op")
	add(float64(series.BytesPerOp(row.N)), "B/op")
	add(float64(series.AllocsPerOp(row.N)), "allocs/op")
	if series.cpuKnown() {
		add(series.CostPerOp(row.N), ClientCPU)
	}
	for _, unit := range slices.Sorted(maps.Keys(row.Metrics)) {
		add(row.Metrics[unit], unit)
	}
	for _, unit := range slices.Sorted(maps.Keys(series.Counters)) {
		add(CounterPerOp(series.Counters[unit], row.N), unit)
	}
	return result
}

// CounterPerOp is a counter's median over batches of n operations, per operation.
func CounterPerOp(values []float64, n int) float64 { return median(values) / float64(n) }

func median(x []float64) float64 { return stats.Sample{Xs: x}.Quantile(0.5) }
