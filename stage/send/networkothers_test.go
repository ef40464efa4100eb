package send

import (
	"bytes"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"postage/internal/service/tlscert"
	"postage/internal/sys/link"
)

func needsLong(t *testing.T) {
	t.Helper()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("POSTAGE_LONG=1 measures for a minute")
	}
	needsNetwork(t)
}

// A bulk flow of the kernel's TCP has the rate of Mathis' bound, within a factor of 1.5.
func TestMathis(t *testing.T) {
	needsLong(t)
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

// curl and h2load need as long as our clients over the same link: to 5% on an idle machine, for new
// connections and for kept ones. They take turns, and the fastest of each are compared.
func TestOthersAgree(t *testing.T) {
	needsLong(t)
	s := over(t, "rtt=50ms,rate=100mbit", 100<<10)
	pair, err := tlscert.New(s.cert)
	if err != nil {
		t.Fatal(err)
	}
	in, err := openInstance(t.Context(), netHTTP2(), s, 1, netHTTP2().serverConfig(&s, pair), pair)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	url := "https://" + in.server.Addr + "/?secure=raw"
	for _, o := range []struct {
		program string
		args    []string
		times   int
		each    int // operations that one time is the mean of
		reuse   bool
		time    *regexp.Regexp // seconds or milliseconds of an operation
	}{
		{"curl", []string{"--silent", "--insecure", "--http2", "--output", "/dev/null", "--write-out", "%{time_total}s\n", url}, 10, 1, false, regexp.MustCompile(`([0-9.]+)(s)\n`)},
		{"h2load", []string{"-D", "2", "--warm-up-time", "1", "-c", "1", "-m", "1", url}, 3, 20, true, regexp.MustCompile(`time for request: +\S+ +\S+ +([0-9.]+)(ms)`)},
	} {
		if _, err := exec.LookPath(o.program); err != nil {
			t.Logf("%s is not installed", o.program)
			continue
		}
		ours := s
		ours.reuse = o.reuse
		own, err := newInstance(t.Context(), netHTTP2(), ours, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		if err := own.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		var theirs, mine []float64
		for range o.times {
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), o.program, o.args...)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := in.network.Near.Start(cmd); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%s: %v: %s", o.program, err, &out)
			}
			m := o.time.FindStringSubmatch(out.String())
			if m == nil {
				t.Fatalf("%s says %s", o.program, &out)
			}
			value, _ := strconv.ParseFloat(m[1], 64)
			theirs = append(theirs, value/map[string]float64{"s": 1, "ms": 1000}[m[2]])
			var took time.Duration
			for range 2 { // first as a warm-up: the connection was idle
				begun := time.Now()
				if err := own.Run(o.each); err != nil {
					t.Fatal(err)
				}
				took = time.Since(begun)
			}
			mine = append(mine, took.Seconds()/float64(o.each))
		}
		ratio := slices.Min(mine) / slices.Min(theirs)
		t.Logf("%s %.1f ms, our client %.1f ms: %.3f", o.program, 1e3*slices.Min(theirs), 1e3*slices.Min(mine), ratio)
		within := 0.3
		if os.Getenv("POSTAGE_LONG") == "hours" { // on an idle machine
			within = 0.05
		}
		if math.Abs(ratio-1) > within {
			t.Errorf("%s and our client differ by more than %.0f%%", o.program, 100*within)
		}
	}
}
