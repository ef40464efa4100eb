//go:build !unix

package peer

func processCPU() int64 { return -1 }
