package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Processors are those that this process may run on.
func Processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var all []int
	for i := range 8 * len(set) * 8 {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return all, nil
}

// Assign has all threads of a process, and those that they start, run on one processor. What the
// process was told of the number of its processors does not change.
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
		for _, id := range threads {
			if !done[id] {
				err = unix.SchedSetaffinity(id, &set)
			}
			if err != nil {
				return err
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
