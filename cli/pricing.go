package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"postage/record"
)

// pricing are the flags that price a record's costs for another world than it was measured in.
type pricing struct {
	heap, garbage string
	gogc          int
}

func (p *pricing) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.heap, "heap", "", "price garbage for a process with so much alive, such as 1GB")
	f.IntVar(&p.gogc, "gogc", 0, "price garbage for a process with this GOGC")
	f.StringVar(&p.garbage, "garbage", "", "price garbage at so much a byte, such as 0.25ns/B: a service's own\n/cpu/classes/gc/total:cpu-seconds over /gc/heap/allocs:bytes")
	cmd.MarkFlagsMutuallyExclusive("garbage", "heap")
	cmd.MarkFlagsMutuallyExclusive("garbage", "gogc")
}

// apply prices the record, if a flag was given.
func (p *pricing) apply(cmd *cobra.Command, rec *record.Record) error {
	if p.garbage != "" {
		number, _ := strings.CutSuffix(p.garbage, "ns/B")
		ns, err := strconv.ParseFloat(number, 64)
		if err != nil || !(ns > 0 && ns <= 1e3) {
			return fmt.Errorf("--garbage %s: want nanoseconds a byte, such as 0.25ns/B", p.garbage)
		}
		rec.Priced = &record.Pricing{PerByte: ns}
		return nil
	}
	if p.heap == "" && !cmd.Flags().Changed("gogc") {
		return nil
	}
	if rec.Run.World == nil || rec.Run.World.LiveHeap == 0 {
		return hinted(errors.New("--heap and --gogc: the record does not say what lived in the heap where it was measured"), "--garbage takes a price a byte")
	}
	world := *rec.Run.World
	if p.heap != "" {
		bytes, err := humanize.ParseBytes(p.heap)
		if err != nil || bytes < 1<<20 || bytes > 1<<42 {
			return fmt.Errorf("--heap %s: want a size from 1MB on, such as 64MB or 1GB", p.heap)
		}
		world.LiveHeap = int64(bytes)
	}
	if cmd.Flags().Changed("gogc") {
		if p.gogc < 1 {
			return fmt.Errorf("--gogc %d: must be at least 1", p.gogc)
		}
		world.GOGC = p.gogc
	}
	rec.Priced = &record.Pricing{World: world}
	return nil
}
