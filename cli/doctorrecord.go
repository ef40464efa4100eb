package cli

import (
	"cmp"
	"fmt"
	"io"

	"postage/lab"
	"postage/record"
)

// blockValues prints what a calibration's blocks find by each kind of block value, and marks the
// one in use. All are of the same batches, so the machine's state is the same. Older records, whose
// rows name no value, are taken to be of contenders alone in their process.
func blockValues(w io.Writer, name string) error {
	rec, err := record.Load(name)
	if err != nil {
		return err
	}
	own := record.ValueFastCPU
	if len(rec.Rows) > 0 {
		own = cmp.Or(rec.Rows[0].Value, own)
	}
	needed := map[record.Value]float64{}
	fmt.Fprintf(w, "%-28s %11s %8s %7s %7s  %-25s %s\n", "value of a block", "comparisons", "interval", "miss 1", "differ", "1%, 2%, 3%, 5% found", "found in 95%")
	for _, kind := range []record.Value{record.ValueMedianWall, record.ValueMeanWall, record.ValueFastWall, record.ValueFastCPU} {
		for i := range rec.Rows {
			rec.Rows[i].Value = kind
		}
		c := lab.Calibrate(rec)
		if c.Comparisons == 0 {
			return fmt.Errorf("%s: holds no comparison of a calibration: `postage doctor --calibrate` makes such records", name)
		}
		powers := ""
		for i := range c.Slowed {
			powers += fmt.Sprintf("%d/%d ", c.Found[i], c.Slowed[i])
		}
		name := cmp.Or(string(kind), "median of paired wall times")
		if kind == own {
			name += " (speaks)"
		}
		fmt.Fprintf(w, "%-28s %11d %8s %7d %7d  %-25s %.2f%%\n", name, c.Comparisons,
			fmt.Sprintf("±%.2f%%", 100*c.HalfWidth), c.Misses, c.FalseAlarms, powers, 100*c.Needed)
		needed[kind] = c.Needed
	}
	_, err = fmt.Fprintf(w, "%s needs %.2f of the slowdown that the median of paired wall times needs, on the same records\n", own, needed[own]/needed[record.ValueMedianWall])
	return err
}
