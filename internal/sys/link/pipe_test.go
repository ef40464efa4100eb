package link

import (
	"math"
	"testing"
	"time"
)

// Of many packets the part is lost that was asked for, and in as long bursts; the same ones for the
// same seed.
func TestLoss(t *testing.T) {
	for _, s := range []Spec{{Loss: 0.005}, {Loss: 0.02}, {Loss: 0.05, Burst: 4}, {Loss: 0.2, Burst: 2}, {Loss: 0.5, Burst: 20}} {
		const packets = 1 << 20
		s.Seed = 7
		p, again, other := newPipe(s, 1), newPipe(s, 1), newPipe(s, 2)
		lost, bursts, differ, before := 0, 0, 0, false
		for range packets {
			l := p.loses(0)
			if l != again.loses(0) {
				t.Fatalf("%v: the same seed draws other losses", s)
			}
			if l != other.loses(0) {
				differ++
			}
			if l {
				lost++
				if !before {
					bursts++
				}
			}
			before = l
		}
		length, want := float64(lost)/float64(bursts), s.Burst
		if want == 0 {
			want = 1 / (1 - s.Loss)
		}
		if part := float64(lost) / packets; math.Abs(part/s.Loss-1) > 0.05 || math.Abs(length/want-1) > 0.05 || differ == 0 {
			t.Errorf("%v: lost %.4f of the packets, %.2f in a row, want %.2f; %d differ in the other direction", s, part, length, want, differ)
		}
	}
}

// A burst is over after a while: packets that come alone are lost as often, but not in a row.
func TestBurstsEnd(t *testing.T) {
	p := newPipe(Spec{Loss: 0.05, Burst: 20, Rate: 100e6}, 1)
	lost, pairs, before := 0, 0, false
	const packets = 1 << 18
	for i := range packets {
		l := p.loses(time.Duration(i) * 200 * time.Millisecond)
		if l {
			lost++
		}
		if l && before {
			pairs++
		}
		before = l
	}
	if part, again := float64(lost)/packets, float64(pairs)/float64(lost); math.Abs(part-0.05) > 0.003 || math.Abs(again-0.05) > 0.01 {
		t.Errorf("lost %.4f of the packets, and %.4f of those after a loss, want 0.05 of both", part, again)
	}
}

// Packets leave at the rate, arrive half a round trip later, in order; what the queue has no room
// for is dropped, and only that.
func TestQueue(t *testing.T) {
	const size, rate = 1000, 8e6 // a packet takes 1 ms
	p := newPipe(Spec{RTT: 100 * time.Millisecond, Rate: rate}, 1)
	taken := 0
	for range 125 { // all at once
		if p.take(0, make([]byte, size)) {
			taken++
		}
	}
	if taken != 100 || p.Dropped != 25 || p.Packets != 125 {
		t.Errorf("took %d of 125: %+v", taken, p.Totals)
	}
	room := 0
	for at := 3*time.Millisecond + time.Microsecond; p.take(at, make([]byte, size)); {
		room++
	}
	if room != 3 {
		t.Errorf("after 3 ms there is room for %d packets, want 3", room)
	}
	for i := range 103 {
		arrival, some := p.next()
		if want := time.Duration(i+1)*time.Millisecond + 50*time.Millisecond; !some || arrival != want {
			t.Errorf("packet %d arrives after %v, %v, want %v", i, arrival, some, want)
		}
		p.arrive()
	}
	if _, some := p.next(); some || p.queued != 0 {
		t.Errorf("something is left: %d bytes", p.queued)
	}
}

// Without a rate nothing waits or is dropped, and the list of packets on their way does not grow.
func TestUnlimited(t *testing.T) {
	p := newPipe(Spec{RTT: 2 * time.Millisecond}, 1)
	for i := range 100_000 {
		now := time.Duration(i) * time.Microsecond
		if !p.take(now, make([]byte, 1500)) {
			t.Fatal("dropped a packet")
		}
		for arrival, some := p.next(); some && arrival <= now; arrival, some = p.next() {
			p.arrive()
		}
	}
	if len(p.waiting) > 8192 || len(p.waiting)-p.first > 1001 {
		t.Errorf("%d packets are kept, %d are on their way", len(p.waiting), len(p.waiting)-p.first)
	}
}
