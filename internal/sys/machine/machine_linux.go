package machine

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"postage/record"
)

// Read describes the machine. Steal and pressure are taken over the sampling
// time, during which it sleeps; with 0 they are left out.
func Read(sampling time.Duration) record.Machine {
	m := portable()
	fs, _ := procfs.NewDefaultFS()
	cpus, _ := fs.CPUInfo()
	var flags []string
	if len(cpus) > 0 {
		cpu := cpus[0]
		m.CPU, flags = cpu.ModelName, cpu.Flags
		for _, d := range [...][2]string{{"family ", cpu.CPUFamily}, {"model ", cpu.Model}, {"stepping ", cpu.Stepping}, {"cache ", cpu.CacheSize}} {
			if d[1] != "" {
				m.CPUDetail = strings.TrimPrefix(m.CPUDetail+", "+d[0]+d[1], ", ")
			}
		}
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	m.Virtualised = virtualised(flags)
	m.Governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if load, err := fs.LoadAvg(); err == nil {
		m.Load = &load.Load1
	}
	if sampling <= 0 {
		return m
	}
	stat, err := fs.Stat()
	pressure, unknown := fs.PSIStatsForResource("cpu")
	time.Sleep(sampling)
	if after, _ := fs.Stat(); err == nil { // the kernel counts in steps of 10 ms, procfs in seconds
		m.StealPercent = new(100 * (after.CPUTotal.Steal - stat.CPUTotal.Steal) / sampling.Seconds() / float64(m.Cores))
	}
	if after, err := fs.PSIStatsForResource("cpu"); err == nil && unknown == nil && after.Some != nil && pressure.Some != nil { // in microseconds
		m.PressurePercent = new(100 * float64(after.Some.Total-pressure.Some.Total) / float64(sampling.Microseconds()))
	}
	return m
}

// virtualised is "yes" or "none" by a processor's flags, "" where processors have no such flag.
func virtualised(flags []string) string {
	switch {
	case flags == nil || runtime.GOARCH != "amd64" && runtime.GOARCH != "386":
		return ""
	case slices.Contains(flags, "hypervisor"):
		return "yes"
	}
	return "none"
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	head, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(head)
}
