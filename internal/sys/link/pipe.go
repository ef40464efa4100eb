package link

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"
)

// pipe is what one direction of a link does to packets. It knows no clock: times are since any
// moment, and do not go back.
type pipe struct {
	spec            Spec
	random          *rand.Rand
	losing          bool          // of Gilbert and Elliott's two states, the one in which packets are lost
	last            time.Duration // when it was looked at
	free            time.Duration
	waiting         []parcel // in order of arrival, from first on
	first, departed int      // those before departed no longer wait for the rate
	queued          int      // bytes of those from departed on
	Totals
}

// parcel is a packet on its way.
type parcel struct {
	data    []byte
	leaves  time.Duration // when the last of its bits has been sent
	arrival time.Duration // when it arrives
	lost    bool
}

// Totals are packets of one direction.
type Totals struct {
	Packets int64 `json:"packets"` // that were given to the link
	Lost    int64 `json:"lost"`    // by chance
	Dropped int64 `json:"dropped"` // for which there was no room in the queue
}

func newPipe(s Spec, direction uint64) *pipe {
	return &pipe{spec: s, random: rand.New(rand.NewPCG(s.Seed, direction))}
}

// take gives a packet to the link. It reports whether the packet is on its way now, which makes its
// data the pipe's. A packet that will be lost takes its time of the rate like any other.
func (p *pipe) take(now time.Duration, data []byte) bool {
	p.Packets++
	for ; p.departed < len(p.waiting) && p.waiting[p.departed].leaves <= now; p.departed++ {
		p.queued -= len(p.waiting[p.departed].data)
	}
	if p.spec.Rate != 0 && p.departed < len(p.waiting) && p.queued+len(data) > p.spec.queue() {
		p.Dropped++
		return false
	}
	leaves := now
	if p.spec.Rate != 0 {
		leaves = max(now, p.free) + time.Duration(float64(8*len(data))/p.spec.Rate*1e9)
		p.free = leaves
	}
	lost := p.loses(now)
	if lost {
		p.Lost++
	}
	if p.first > 1024 && p.first > len(p.waiting)/2 {
		p.waiting = p.waiting[:copy(p.waiting, p.waiting[p.first:])]
		p.departed -= p.first
		p.first = 0
	}
	p.waiting = append(p.waiting, parcel{data, leaves, leaves + p.spec.RTT/2, lost})
	p.queued += len(data)
	return true
}

// loses draws whether a packet is lost. In bursts it is lost in one of two states: that one lasts
// for Burst packets on average, and the other so long that the part that is lost is Loss (Gilbert
// 1960, with Elliott's probabilities of loss 0 and 1). The states change in time, as they do on a
// line: a packet that comes alone, such as one that is sent again, does not meet the burst of long
// ago.
func (p *pipe) loses(now time.Duration) bool {
	if p.spec.Loss == 0 {
		return false
	}
	chance := p.spec.Loss
	if p.spec.Burst != 0 {
		steps := max(1, float64(now-p.last)/float64(p.spec.slot()))
		memory := math.Pow(max(0, 1-1/(p.spec.Burst*(1-p.spec.Loss))), steps)
		if chance *= 1 - memory; p.losing {
			chance += memory
		}
	}
	p.losing, p.last = p.random.Float64() < chance, now
	return p.losing
}

// slot is how long a packet of 1500 bytes takes, by 100 Mbit/s where there is no rate.
func (s *Spec) slot() time.Duration {
	return time.Duration(8 * mtu / cmp.Or(s.Rate, 100e6) * 1e9)
}

// next is when the next packet arrives; false without any.
func (p *pipe) next() (time.Duration, bool) {
	if p.first == len(p.waiting) {
		return 0, false
	}
	return p.waiting[p.first].arrival, true
}

// arrive takes the next packet out.
func (p *pipe) arrive() parcel {
	a := p.waiting[p.first]
	if p.departed == p.first { // a packet that arrives has left the queue
		p.queued -= len(a.data)
		p.departed++
	}
	p.waiting[p.first].data = nil
	p.first++
	return a
}
