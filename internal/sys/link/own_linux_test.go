package link

import (
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"postage/internal/sys/proc"
)

// roundTrips is how long n round trips of a byte take, in order.
func roundTrips(t *testing.T, conn net.Conn, n int) []time.Duration {
	t.Helper()
	one := make([]byte, 1)
	var took []time.Duration
	for range n {
		begun := time.Now()
		if _, err := conn.Write(one); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(one); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took
}

// What the link adds by itself: delay and jitter of a round trip that should take none, the CPU
// time of a packet, and the rate at which the process that carries is the limit. All are printed;
// only an idle machine has them good enough to be judged.
func TestOwnFigures(t *testing.T) {
	l := open(t, "rtt=0s")
	conn, err := l.Near.Dial(t.Context(), echo(t, l))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	took := roundTrips(t, conn, 3000)
	median := took[1500]
	t.Logf("a round trip of 0: median %v, 1%% under %v, 99%% under %v", median, took[30], took[2970])

	before, err := l.Counters()
	if err != nil {
		t.Fatal(err)
	}
	const total = 256 << 20
	begun := time.Now()
	cpu, _ := proc.CPU()
	go func() {
		block := make([]byte, 1<<16)
		for range total / len(block) {
			_, _ = conn.Write(block)
		}
	}()
	if _, err := io.CopyN(io.Discard, conn, total); err != nil {
		t.Fatal(err)
	}
	elapsed := time.Since(begun)
	after, err := l.Counters()
	if err != nil {
		t.Fatal(err)
	}
	ours, _ := proc.CPU()
	rate := 8 * total / elapsed.Seconds()
	packets := after.There.Packets + after.Back.Packets - before.There.Packets - before.Back.Packets
	t.Logf("unlimited: %.0f Mbit/s each way at once, %d packets of %v CPU each (both ends, this process: %v in all), %d overrun",
		rate/1e6, packets, time.Duration((after.CPUNS-before.CPUNS)/packets), ours-cpu, after.Overrun)
	if os.Getenv("POSTAGE_LONG") == "hours" && (median > 200*time.Microsecond || rate < 2*mostRate) {
		t.Errorf("the link adds more, or carries less, than docs/network.md says")
	}
}

// A round trip takes as long as it should: never less, and on an idle machine hardly more.
func TestDelay(t *testing.T) {
	const rtt = 20 * time.Millisecond
	l := open(t, "rtt="+rtt.String())
	conn, err := l.Near.Dial(t.Context(), echo(t, l))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	took := roundTrips(t, conn, 20)
	c, err := l.Counters()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("from %v to %v, median %v; packets late by %v on average", took[0], took[19], took[10], c.Late())
	if took[0] < rtt {
		t.Errorf("a round trip took %v, which should be %v", took[0], rtt)
	}
}
