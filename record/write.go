package record

import (
	"bufio"
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
	out := &lineWriter{w: bufio.NewWriter(w)}
	out.text(preamble)
	out.tagged("run", r.Run)
	out.tagged("machine", r.Machine)
	for i := range r.Rows {
		out.tagged("row", &r.Rows[i])
	}
	rows := make(map[string]*Row, len(r.Rows))
	for i := range r.Rows {
		rows[r.Rows[i].Name] = &r.Rows[i]
	}
	results := benchfmt.NewWriter(out)
	for i := range r.Blocks {
		block := &r.Blocks[i]
		out.tagged("block", block)
		for j := range block.Series {
			series := &block.Series[j]
			row := rows[series.Row]
			if row == nil {
				return out.written, fmt.Errorf("record: a series of %s, which is not a row of the record", series.Row)
			}
			out.tagged("batches", series)
			if out.err == nil {
				out.err = results.Write(r.result(row, series))
			}
		}
	}
	out.tagged("end", end{Lines: out.lines + 1, CRC32: out.crc})
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return out.written, out.err
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
	for _, c := range r.Machine.config() {
		result.SetConfig(c[0], c[1])
		i, _ := result.ConfigIndex(c[0])
		result.Config[i].File = true
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

// lineWriter counts and sums what passes and keeps the first error.
type lineWriter struct {
	w       *bufio.Writer
	lines   int
	crc     uint32
	written int64
	err     error
}

func (l *lineWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	l.written += int64(n)
	l.lines += bytes.Count(p[:n], []byte("\n"))
	l.crc = crc32.Update(l.crc, crc32.IEEETable, p[:n])
	return n, err
}

func (l *lineWriter) text(s string) {
	if l.err == nil {
		_, l.err = io.WriteString(l, s)
	}
}

func (l *lineWriter) tagged(tag string, v any) {
	if l.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		l.err = fmt.Errorf("record: #%s line: %w", tag, err)
		return
	}
	l.text("#" + tag + " " + string(text) + "\n")
}
