package send

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// portsLeft returns an error when so many connections have been made to one server that the ports
// for new ones may run out: the side that closes a connection keeps its port for a minute, in
// TIME_WAIT. Linux reuses such a port for a new connection on loopback after a second (tcp_tw_reuse
// 2, the default since 4.19), or on any interface (1). 28,000 ports are then enough for any rate of
// new connections that is possible here. The number of connections is limited only where that is
// switched off.
func portsLeft(kept bool, conns int64) error {
	if kept || conns < 1<<10 {
		return nil
	}
	if reuse := readNumbers("/proc/sys/net/ipv4/tcp_tw_reuse"); len(reuse) == 1 && reuse[0] != 0 {
		return nil
	}
	ports := readNumbers("/proc/sys/net/ipv4/ip_local_port_range")
	if len(ports) != 2 {
		return nil
	}
	if limit := (ports[1] - ports[0]) * 8 / 10; conns > limit {
		return fmt.Errorf("%d connections were closed, and each may hold one of %d ports for a minute: set net.ipv4.tcp_tw_reuse to 2 or widen net.ipv4.ip_local_port_range",
			conns, ports[1]-ports[0])
	}
	return nil
}

func readNumbers(path string) []int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var numbers []int64
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}
