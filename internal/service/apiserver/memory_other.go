//go:build !linux

package apiserver

// volatile says whether a folder's file system is in memory, as far as this system tells.
func volatile(string) bool { return false }

// inMemory is a folder whose file system is in memory, "" as far as this system tells.
func inMemory() string { return "" }
