package send

import (
	"io"
	"math"
	"net"
	"os"
	"testing"
	"time"

	"postage/internal/sys/link"
)

// A bulk flow of the kernel's TCP has the rate of Mathis' bound, within a factor of 1.5.
func TestMathis(t *testing.T) {
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("POSTAGE_LONG=1 measures for a minute")
	}
	needsNetwork(t)
	for _, c := range []struct {
		congestion string
		rtt        time.Duration
		loss       float64
	}{
		{"reno", 20 * time.Millisecond, 0.01}, {"reno", 20 * time.Millisecond, 0.005}, {"reno", 40 * time.Millisecond, 0.005},
		{"cubic", 20 * time.Millisecond, 0.01}, {"cubic", 20 * time.Millisecond, 0.005},
	} {
		t.Run(c.congestion, func(t *testing.T) {
			t.Parallel()
			bound := mathis(1448, c.rtt, c.loss)
			for seed := range uint64(3) { // a busy machine is slower
				l, err := link.Open(t.Context(), link.Spec{RTT: c.rtt, Loss: c.loss, Congestion: c.congestion, Seed: 7 + seed})
				if err != nil {
					t.Fatal(err)
				}
				got := bulk(t, l, 500*c.rtt) // some hundred losses
				_ = l.Close()
				factor := got / bound
				t.Logf("%s, rtt=%v, loss=%g%%: %.2f Mbit/s, Mathis' bound %.2f, factor %.2f", c.congestion, c.rtt, 100*c.loss, 8*got/1e6, 8*bound/1e6, factor)
				if factor <= 1.5 && factor >= 1/1.5 {
					return
				}
			}
			t.Errorf("%s: not within 1.5 times Mathis' bound", c.congestion)
		})
	}
}

// mathis is the rate in bytes a second of a TCP flow with such a loss, on average, by M. Mathis et
// al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997: random losses
// and an acknowledgement of each segment.
func mathis(segment int, rtt time.Duration, loss float64) float64 {
	return float64(segment) / rtt.Seconds() * math.Sqrt(1.5/loss)
}

// bulk is how many bytes a second come for so long.
func bulk(t *testing.T, l *link.Link, long time.Duration) float64 {
	t.Helper()
	listener, err := l.Far.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			for block := make([]byte, 1<<16); err == nil; {
				_, err = conn.Write(block)
			}
			_ = conn.Close()
		}
	}()
	conn, err := l.Near.Dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Slow start is before the first loss, and goes far beyond what is kept.
	_ = conn.SetReadDeadline(time.Now().Add(long / 5))
	_, _ = io.Copy(io.Discard, conn)
	begun := time.Now()
	_ = conn.SetReadDeadline(begun.Add(long))
	n, err := io.Copy(io.Discard, conn)
	if e, ok := err.(net.Error); !ok || !e.Timeout() {
		t.Fatal(err)
	}
	return float64(n) / time.Since(begun).Seconds()
}
