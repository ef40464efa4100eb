//go:build !linux

package pgbulk

import "net"

// vector writes parts with net.Buffers, which uses writev where there is one.
type vector struct {
	rest net.Buffers // while they are written
}

// write writes parts. waits is called before it may have to wait.
func (v *vector) write(nc net.Conn, parts [][]byte, waits func()) error {
	waits()
	v.rest = parts
	_, err := v.rest.WriteTo(nc)
	v.rest = nil
	return err
}

func enlarge(net.Conn, int) {}
