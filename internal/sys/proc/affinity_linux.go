package proc

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Processors are the processors that this process may run on, without the slower kind.
func Processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var all []int
	for i := 0; len(all) < set.Count(); i++ {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return fastest(all, "/sys/devices/system/cpu"), nil
}

// fastest are the processors that reach nine tenths of the highest clock rate, all if the system
// does not say.
func fastest(all []int, folder string) []int {
	rates, most := map[int]int{}, 0
	for _, i := range all {
		text, _ := os.ReadFile(fmt.Sprintf("%s/cpu%d/cpufreq/cpuinfo_max_freq", folder, i))
		rates[i], _ = strconv.Atoi(strings.TrimSpace(string(text)))
		most = max(most, rates[i])
	}
	return slices.DeleteFunc(all, func(i int) bool { return rates[i] < most*9/10 })
}

// Assign has all threads of a Go process, and those that they start, run on one processor. What the
// process was told of the number of its processors does not change. The runtime's monitor (see
// [CPUOfCode]) is a batch job there, which waits for its turn: it would interrupt the code every 70
// us for some 4 ms of each batch. It must have a turn, as others wait for what it holds.
func Assign(pid, processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	done := map[int]bool{}
	for before := -1; before < len(done); { // a thread may start another meanwhile
		before = len(done)
		threads, err := threadsOf(strconv.Itoa(pid))
		if err != nil {
			return err
		}
		for i, id := range threads {
			if done[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil {
				return err
			}
			if i == 1 { // a sandbox that forbids it has a monitor that interrupts
				if attr, err := unix.SchedGetAttr(id, 0); err == nil {
					attr.Policy = unix.SCHED_BATCH // at its own nice value: one that is lower is forbidden
					_ = unix.SchedSetAttr(id, attr, 0)
				}
			}
			done[id] = true
		}
	}
	return nil
}

// threadsOf are the threads of a process, "self" for this one, in the order in which they were
// made.
func threadsOf(pid string) (ids []int, err error) {
	folder, err := os.Open("/proc/" + pid + "/task")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, err
}
