package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"postage/internal/kit/words"
	"postage/internal/sys/machine"
	"postage/lab"
	"postage/record"
)

// worldFlags say in what process costs are measured.
type worldFlags struct {
	heap      string
	gogc, cpu int
	world     *record.World // nil for the default
}

func (f *worldFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.heap, "heap", "", "`size` of what lives in the heap of each worker beside the contender, such as 1GB (default 16MB)")
	flags.IntVar(&f.gogc, "gogc", 0, "GOGC of the workers (default 100)")
	flags.IntVar(&f.cpu, "cpu", 0, "GOMAXPROCS of the workers (default 1 for costs, and as many as there are processors beside a server)")
}

// The smallest and the largest heap that a world may have.
const leastHeap, mostHeap = 1_000_000, 64 << 30

// parse makes the world that the flags ask for.
func (f *worldFlags) parse(cmd *cobra.Command) error {
	heap, gogc := cmd.Flags().Changed("heap"), cmd.Flags().Changed("gogc")
	world := record.DefaultWorld()
	if heap {
		size, err := humanize.ParseBytes(f.heap)
		if err != nil || size < leastHeap || size > mostHeap {
			return fmt.Errorf("--heap %s: want a size from 1MB to 64GB, such as 64MB or 1GB", f.heap)
		}
		world.LiveHeap = int64(size)
	}
	if gogc {
		if f.gogc < 1 {
			return fmt.Errorf("--gogc %d: must be at least 1", f.gogc)
		}
		world.GOGC = f.gogc
	}
	if f.cpu < 0 {
		return fmt.Errorf("--cpu %d: must be at least 1", f.cpu)
	}
	if heap || gogc {
		f.world = &world
	}
	return nil
}

// fits returns an error if the entries do not fit the world. All workers of a case run at a time.
func (f *worldFlags) fits(entries []lab.Entry) error {
	if f.world == nil {
		return nil
	}
	workers, most := map[string]int{}, ""
	for _, e := range entries {
		if cmp.Or(e.Case.Value, record.ValueCost) == record.ValueCost && e.Contender.NotPossible == "" {
			if workers[e.Case.Name]++; workers[e.Case.Name] > workers[most] {
				most = e.Case.Name
			}
		}
	}
	if most == "" {
		return errors.New("--heap and --gogc: no row has a cost that depends on them: with a server, wall time is compared")
	}
	grown := float64(workers[most]) * float64(f.world.LiveHeap) * (1 + float64(f.world.GOGC)/100)
	if memory := machine.Read(0).MemoryBytes; memory > 0 && grown > float64(memory) {
		return hinted(fmt.Errorf("--heap: %s of %s may grow to %s together, and this machine has %s",
			words.Counted(workers[most], "worker"), most, humanize.Bytes(uint64(grown)), humanize.Bytes(uint64(memory))),
			"name fewer contenders, or a smaller heap or GOGC")
	}
	return nil
}
