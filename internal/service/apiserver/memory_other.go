//go:build !linux

package apiserver

// volatile would report whether a folder is in memory, which this system does not tell.
func volatile(string) bool { return false }

// inMemory would return a folder in memory.
func inMemory() string { return "" }
