package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "serve":
			err := Serve(os.Stdin, os.Stdout, "hello", func(q json.RawMessage) (any, error) {
				switch string(q) {
				case `"bad"`:
					return nil, errors.New("no such thing")
				case `"die"`:
					fmt.Fprintln(os.Stderr, "fatal: out of order")
					os.Exit(4)
				case `"slow"`:
					time.Sleep(300 * time.Millisecond)
				}
				return len(q), nil
			})
			if err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "configured":
			in := bufio.NewReader(os.Stdin)
			var name string
			err := ReadConfig(in, &name)
			if err == nil && name == "nobody" {
				err = Refuse(os.Stdout, errors.New("nobody is not served"))
			} else if err == nil {
				err = Serve(in, os.Stdout, "hello "+name, nil)
			}
			if err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "dying":
			err := Serve(os.Stdin, os.Stdout, nil, func(json.RawMessage) (any, error) {
				time.Sleep(300 * time.Millisecond)
				os.Exit(4)
				return nil, nil
			})
			if err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		case "fail":
			fmt.Fprintln(os.Stderr, "address already in use")
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func TestPeer(t *testing.T) {
	var ready string
	p, err := Start(&ready, "serve")
	if err != nil || ready != "hello" {
		t.Fatalf("%v, ready %q", err, ready)
	}
	defer p.Close()
	var n int
	if err := p.Ask("abc", &n); err != nil || n != 5 {
		t.Errorf("answer %d, %v", n, err)
	}
	if err := p.Ask("bad", &n); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("an error came as %v", err)
	}
	if err := p.Ask("die", &n); err == nil || !strings.Contains(err.Error(), "the server ended (exit status 4): fatal: out of order") {
		t.Errorf("a death came as %v", err)
	}
	<-p.Done()
	if err := p.Explain(errors.New("lost")); err == nil || err.Error() != "lost: the server ended (exit status 4): fatal: out of order" {
		t.Errorf("a death is explained as %v", err)
	}
	if err := p.Ask("abc", &n); err == nil {
		t.Error("a dead peer answered")
	}
}

// A server that is about to end is waited for, and one that lives loses no answer by it.
func TestExplain(t *testing.T) {
	var ready any
	dying, err := Start(&ready, "dying")
	if err != nil {
		t.Fatal(err)
	}
	defer dying.Close()
	if err := dying.Explain(errors.New("EOF")); err == nil || err.Error() != "EOF: the server ended (exit status 4)" {
		t.Errorf("a death is explained as %v", err)
	}
	live, err := Start(&ready, "serve")
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := live.Explain(errors.New("EOF")); err == nil || err.Error() != "EOF" {
		t.Errorf("what a server that lives has nothing to do with is explained as %v", err)
	}
	var n int
	if err := live.Ask("abc", &n); err != nil || n != 5 {
		t.Errorf("answer %d, %v", n, err)
	}
}

// An answer that nobody waits for any more is not taken for the next one's.
func TestLateAnswer(t *testing.T) {
	var ready string
	p, err := Start(&ready, "serve")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var n int
	if err := p.tell("slow"); err != nil {
		t.Fatal(err)
	}
	if err := p.receive(&n, time.Nanosecond); err == nil {
		t.Log("the machine is so slow that the answer was there")
	}
	if err := p.Ask("abc", &n); err != nil || n != 5 {
		t.Errorf("answer %d, %v, to another question", n, err)
	}
}

func TestStartFails(t *testing.T) {
	var ready string
	if _, err := Start(&ready, "fail"); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}

func TestConfig(t *testing.T) {
	var ready string
	p, err := StartConfigured(t.Context(), &ready, "world", "configured")
	if err != nil || ready != "hello world" {
		t.Fatalf("%v, ready %q", err, ready)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := StartConfigured(t.Context(), &ready, "nobody", "configured"); err == nil || !strings.Contains(err.Error(), "nobody is not served") {
		t.Errorf("a refusal came as %v", err)
	}
}

func TestCloseEndsTheProcess(t *testing.T) {
	var ready string
	p, err := Start(&ready, "serve")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p.cmd.ProcessState == nil || !p.cmd.ProcessState.Success() {
		t.Errorf("it ended with %v", p.cmd.ProcessState)
	}
}
