//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// figures are the values of one quantity in several repetitions.
type figures []float64

func (f figures) median() float64 {
	s := slices.Sorted(slices.Values(f))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// format returns the median, with the lowest and the highest value.
func (f figures) format(one string) string {
	if len(f) == 0 {
		return "n/a"
	}
	return fmt.Sprintf(one+" ("+one+" to "+one+")", f.median(), slices.Min(f), slices.Max(f))
}

// machine describes how busy the machine has been, as far as the kernel says so.
type machine struct {
	load         string
	total, steal float64
}

func readMachine() (m machine) {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(text), " ")
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 7 { // guest time is counted as user time too
			break
		}
		m.total += ticks
		if i == 7 {
			m.steal = ticks
		}
	}
	return m
}

func (m machine) until(end machine) string {
	text := fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if m.load != "" {
		text += fmt.Sprintf(", load average %s at the beginning and %s at the end", m.load, end.load)
	}
	if end.total > m.total {
		text += fmt.Sprintf(", %.1f%% of processor time taken by other guests", 100*(end.steal-m.steal)/(end.total-m.total))
	}
	return text
}
