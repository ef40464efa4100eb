// Package link is a network between two processes of this machine: two namespaces joined by two TUN
// devices, and a process of this program between them that carries packets from one to the other.
// It delays, loses and limits them, as the [Spec] says.
//
// Sockets are made in a namespace by an [End]; they work like all others, in any process. The
// kernel's own TCP is at both ends. Nothing in a namespace can be reached from outside, and nothing
// outside from within: there is no route. The namespaces and devices have no names. They are held
// by the files of the process that carries the packets, so that the kernel removes them when it
// ends, however that happens.
//
// The addresses are of 192.0.2.0/24, which RFC 5737 keeps for documentation.
package link

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec says what a link does to the packets of each direction.
type Spec struct {
	RTT   time.Duration // half of it each way
	Loss  float64       // part of the packets that is lost, from 0 to below 1
	Burst float64       // packets that are lost in a row, on average; 0 for loss that is independent
	Rate  float64       // bits a second, IP headers included; 0 for no limit
	// Congestion is the kernel's congestion control of TCP, "" for cubic, which is Linux's default.
	Congestion string
	Seed       uint64 // draws the losses
}

// Limits of what can be asked for. The rate is half of what the process can carry here
// (TestOwnFigures), and the longest delay is more than any satellite's.
const (
	mostRTT  = 2 * time.Second
	mostRate = 500e6
	mostLoss = 0.5
	mtu      = 1500
)

// Parse reads a spec: "rtt=20ms,loss=1%,burst=4,rate=50mbit,cc=bbr". Each part may be left out.
func Parse(text string) (Spec, error) {
	var s Spec
	var seen []string
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		if slices.Contains(seen, key) {
			return s, fmt.Errorf("link %q: %s is given twice", text, key)
		}
		seen = append(seen, key)
		if err := s.set(key, value); err != nil {
			return s, fmt.Errorf("link %q: %s: %w", text, part, err)
		}
	}
	if s.Burst != 0 && s.Loss == 0 {
		return s, fmt.Errorf("link %q: a burst without loss: add loss=1%%", text)
	}
	return s, nil
}

func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "rtt":
		s.RTT, err = time.ParseDuration(value)
		if err != nil || s.RTT < 0 || s.RTT > mostRTT {
			return fmt.Errorf("want a round-trip time from 0s to %v, such as 20ms", mostRTT)
		}
	case "loss":
		number, isPercent := strings.CutSuffix(value, "%")
		s.Loss, err = strconv.ParseFloat(number, 64)
		if isPercent {
			s.Loss /= 100
		}
		if err != nil || !(s.Loss >= 0 && s.Loss <= mostLoss) {
			return fmt.Errorf("want the part of packets to lose, from 0 to %g, such as 1%% or 0.01", mostLoss)
		}
	case "burst":
		s.Burst, err = strconv.ParseFloat(value, 64)
		if err != nil || !(s.Burst >= 1 && s.Burst <= 1000) {
			return fmt.Errorf("want the packets that are lost in a row, from 1 to 1000, such as 4")
		}
	case "rate":
		s.Rate, err = bitsASecond(value)
		if err != nil || !(s.Rate >= 10e3 && s.Rate <= mostRate) {
			return fmt.Errorf("want bits a second from 10kbit to %gmbit, which is what this link can do, such as 50mbit", mostRate/1e6)
		}
	case "cc":
		if s.Congestion = value; value == "" {
			return fmt.Errorf("want a congestion control of this kernel, such as cubic")
		}
	default:
		return fmt.Errorf("want rtt, loss, burst, rate or cc, such as rtt=20ms,loss=1%%,rate=50mbit")
	}
	return nil
}

func bitsASecond(text string) (float64, error) {
	for unit, scale := range map[string]float64{"kbit": 1e3, "mbit": 1e6, "gbit": 1e9} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			return n * scale, err
		}
	}
	return 0, strconv.ErrSyntax
}

// String is the spec as [Parse] reads it.
func (s Spec) String() string {
	parts := []string{"rtt=" + s.RTT.String(), "loss=" + number(100*s.Loss) + "%"}
	if s.Burst != 0 {
		parts = append(parts, "burst="+number(s.Burst))
	}
	if s.Rate != 0 {
		parts = append(parts, "rate="+number(s.Rate/1e6)+"mbit")
	}
	if s.Congestion != "" {
		parts = append(parts, "cc="+s.Congestion)
	}
	return strings.Join(parts, ",")
}

func number(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'g', -1, 64) }

// queue is how many bytes may wait for the rate; a packet more is dropped. It is what the link
// carries in a round trip, but at least 64 packets.
func (s *Spec) queue() int { return max(64*mtu, int(s.Rate/8*s.RTT.Seconds())) }
