//go:build !amd64 || purego

package validutf8

func mixed(p []byte) bool { return automaton(p) }
