package record

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ThisMachine describes the machine. Steal and pressure are taken over the sampling
// time, during which it sleeps; with 0 they are left out.
func ThisMachine(sampling time.Duration) Machine {
	m := portable()
	m.CPU, m.CPUDetail = cpuModel()
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	m.Virtualised = hypervisor()
	m.Governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if load, err := strconv.ParseFloat(strings.Fields(firstLine("/proc/loadavg") + " -")[0], 64); err == nil {
		m.Load = &load
	}
	if sampling > 0 {
		steal, pressure, ok := disturbance()
		time.Sleep(sampling)
		stealAfter, pressureAfter, _ := disturbance()
		if ok {
			m.StealPercent = new(100 * float64(stealAfter-steal) / float64(sampling) / float64(m.Cores))
		}
		if ok && pressure >= 0 {
			m.PressurePercent = new(100 * float64(pressureAfter-pressure) / float64(sampling))
		}
	}
	return m
}

// disturbance is the time since boot that processes could not use: steal is what the hypervisor
// gave to other guests, summed over processors, which the kernel counts in steps of 10 ms; pressure
// is that during which some task waited for a processor, below 0 where that is not known. Source:
// proc(5) on /proc/stat, and the kernel's Documentation/accounting/psi.rst.
func disturbance() (steal, pressure time.Duration, ok bool) {
	fields := strings.Fields(firstLine("/proc/stat")) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 {
		return 0, 0, false
	}
	ticks, err := strconv.ParseInt(fields[8], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	const userHZ = 100 // on every Linux port that Go supports
	// some avg10=0.00 avg60=0.00 avg300=0.00 total=1234, in microseconds
	_, total, _ := strings.Cut(firstLine("/proc/pressure/cpu"), "total=")
	us, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		us = -1
	}
	return time.Duration(ticks) * time.Second / userHZ, time.Duration(us) * time.Microsecond, true
}

// cpuModel is the name of the first processor's model, and details that distinguish models of that
// name.
func cpuModel() (name, detail string) {
	text, _ := os.ReadFile("/proc/cpuinfo")
	var details []string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch key {
		case "":
			return name, strings.Join(details, ", ") // the second processor's follow
		case "model name":
			name = value
		case "cpu family":
			details = append(details, "family "+value)
		case "model", "stepping":
			details = append(details, key+" "+value)
		case "cache size":
			details = append(details, "cache "+value)
		}
	}
	return name, strings.Join(details, ", ")
}

// hypervisor names what the machine runs on, as far as an ordinary user can see: "yes"
// if it is one that does not give its name.
func hypervisor() string {
	for _, file := range []string{"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"} {
		name := firstLine(file)
		for _, known := range []string{"QEMU", "KVM", "VMware", "Xen", "VirtualBox", "Microsoft Corporation", "Amazon EC2", "Google", "Firecracker", "Parallels", "OpenStack"} {
			if strings.Contains(name, known) {
				return name
			}
		}
	}
	if name := firstLine("/sys/hypervisor/type"); name != "" {
		return name
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	switch {
	case err != nil || !strings.Contains(string(text), "\nflags"):
		return ""
	case slices.Contains(strings.Fields(string(text)), "hypervisor"): // a processor's flag
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
