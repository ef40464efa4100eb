package link

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"postage/internal/sys/proc"
)

func TestMain(m *testing.M) {
	proc.ServeIfStarted(map[string]proc.Server{Name: Serve})
	if how := os.Getenv(holder); how != "" {
		hold(how)
	}
	os.Exit(m.Run())
}

// open makes a link, or skips the test where none is possible.
func open(t *testing.T, text string) *Link {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s.Seed = 7
	l, err := Open(t.Context(), s)
	if errors.Is(err, ErrNotPossible) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// echo serves one TCP connection at the far end.
func echo(t *testing.T, l *Link) (addr string) {
	t.Helper()
	listener, err := l.Far.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// A connection goes over the link and nowhere else: it takes the round trips, loses packets that
// the kernel sends again, and is of the namespaces alone.
func TestLink(t *testing.T) {
	const rtt = 20 * time.Millisecond
	before, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, "rtt=20ms,loss=2%,rate=100mbit")
	addr := echo(t, l)
	begun := time.Now()
	conn, err := l.Near.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < rtt {
		t.Errorf("connected in %v, which is under a round trip", took)
	}
	sent := bytes.Repeat([]byte("postage "), 1<<15)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came back of %d: %v", len(got), len(sent), err)
	}
	_ = conn.Close()
	c, err := l.Counters()
	if err != nil {
		t.Fatal(err)
	}
	if c.There.Packets < 1<<18/1460 || c.There.Lost == 0 || c.Overrun != 0 || c.CPUNS <= 0 {
		t.Errorf("the link counts %+v", c)
	}
	after, err := net.Interfaces()
	if err != nil || len(after) != len(before) {
		t.Errorf("this process's network has %d interfaces, and had %d: %v", len(after), len(before), err)
	}
	for _, outside := range []string{"198.51.100.1:9", "127.0.0.1:9"} {
		if conn, err := l.Near.Dial(t.Context(), outside); err == nil {
			t.Errorf("%s is reached from the namespace: %v", outside, conn.RemoteAddr())
		}
	}
}

// UDP's datagrams take the way too.
func TestUDP(t *testing.T) {
	l := open(t, "rtt=10ms")
	far, err := l.Far.ListenUDP("")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Near.ListenUDP("")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	begun := time.Now()
	if _, err := near.WriteTo([]byte("hello"), far.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	_ = far.SetReadDeadline(begun.Add(time.Minute))
	n, from, err := far.ReadFrom(make([]byte, 99))
	if took := time.Since(begun); err != nil || n != 5 || took < 5*time.Millisecond || from.String() != near.LocalAddr().String() {
		t.Errorf("%d bytes from %v after %v: %v", n, from, took, err)
	}
}

// A congestion control that the kernel does not have is refused, with its name.
func TestNoSuchCongestionControl(t *testing.T) {
	open(t, "rtt=1ms") // or there is no link anyway
	_, err := Open(t.Context(), Spec{Congestion: "carrierpigeon"})
	if !errors.Is(err, ErrNotPossible) || !bytes.Contains([]byte(err.Error()), []byte("cc=carrierpigeon: this kernel does not give it")) {
		t.Error(err)
	}
}

// A program that is started at an end sees its device alone.
func TestStart(t *testing.T) {
	l := open(t, "rtt=1ms")
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "cat", "/proc/net/dev")
	cmd.Stdout = &out
	if err := errors.Join(l.Far.Start(cmd), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); bytes.Count(out.Bytes(), []byte(":")) != 2 || !bytes.Contains(out.Bytes(), []byte("link0:")) {
		t.Errorf("it sees %s", text)
	}
}

// A link that cannot keep its word is found: late packets, and those it did not take.
func TestKept(t *testing.T) {
	s := Spec{RTT: 20 * time.Millisecond}
	var c Counters
	for range enough {
		c.late(100 * time.Microsecond)
	}
	if err := c.kept(&s); err != nil || c.Late() != 100*time.Microsecond {
		t.Errorf("%v, late by %v", err, c.Late())
	}
	c.late(time.Second)
	if err := c.kept(&s); !errors.Is(err, ErrBusy) {
		t.Errorf("a packet was a second late: %v", err)
	}
	if err := (&Counters{Overrun: 1}).kept(&s); err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("a packet was not taken: %v", err)
	}
}
