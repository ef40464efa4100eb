package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

type text struct{ Text string }
type length struct{ N int }

// servers are what this program can be as a child of the tests.
var servers = map[string]Server{
	"plain": func(in io.Reader, out io.Writer) error {
		return Serve(in, out, text{"hello"}, func(q json.RawMessage) (any, error) {
			switch string(q) {
			case `"bad"`:
				return nil, errors.New("no such thing")
			case `"die"`:
				fmt.Fprintln(os.Stderr, "fatal: out of order")
				os.Exit(4)
			case `"panic"`:
				fmt.Fprintln(os.Stderr, "all is well")
				panic("boom")
			case `"print"`:
				fmt.Println("to whom it may concern")
			case `"hang"`:
				time.Sleep(time.Hour)
			case `"slow"`:
				time.Sleep(300 * time.Millisecond)
			}
			return length{len(q)}, nil
		})
	},
	"configured": func(stdin io.Reader, out io.Writer) error {
		in := bufio.NewReader(stdin)
		var name string
		if err := ReadConfig(in, &name); err != nil {
			return err
		}
		if name == "nobody" {
			return Refuse(out, errors.New("nobody is not served"))
		}
		return Serve(in, out, text{"hello " + name}, nil)
	},
	"dying": func(in io.Reader, out io.Writer) error {
		return Serve(in, out, text{}, func(json.RawMessage) (any, error) {
			time.Sleep(300 * time.Millisecond)
			os.Exit(4)
			return nil, nil
		})
	},
	"lingering": func(in io.Reader, out io.Writer) error {
		err := Serve(in, out, text{}, nil)
		time.Sleep(6 * time.Second)
		return err
	},
	"failing": func(io.Reader, io.Writer) error { return errors.New("address already in use") },
	"babbling": func(_ io.Reader, out io.Writer) error {
		_, err := fmt.Fprintln(out, "hello?")
		return err
	},
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "parent" {
		parent()
	}
	ServeIfStarted(servers)
	os.Exit(m.Run())
}

// A server that takes some seconds to end, as on a busy machine, has ended well.
func TestSlowEnd(t *testing.T) {
	t.Parallel()
	if os.Getenv("POSTAGE_LONG") == "" {
		t.Skip("takes 6 s; set POSTAGE_LONG=1 to run it")
	}
	p, err := StartServer(t.Context(), "lingering", nil, &text{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// started starts a server that is ended with the test.
func started(t *testing.T, name string) *Child {
	t.Helper()
	var ready text
	p, err := StartServer(t.Context(), name, nil, &ready)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestServer(t *testing.T) {
	p := started(t, "plain")
	var n length
	if err := p.Ask("abc", &n); err != nil || n.N != 5 {
		t.Errorf("answer %d, %v", n, err)
	}
	if err := p.Ask("bad", &n); err == nil || err.Error() != "no such thing" {
		t.Errorf("an error came as %v", err)
	}
	if err := p.Ask("print", &n); err != nil || n.N != 7 {
		t.Errorf("what was printed beside: %d, %v", n, err)
	}
	const why = "the server ended (exit status 4): "
	if err := p.Ask("die", &n); err == nil || !strings.HasPrefix(err.Error(), why) {
		t.Errorf("a death came as %v", err)
	}
	<-p.Done()
	if err := p.Explain(errors.New("lost")); err == nil || !strings.HasPrefix(err.Error(), "lost: "+why) {
		t.Errorf("a death is explained as %v", err)
	}
	if err := p.Ask("abc", &n); err == nil {
		t.Error("one that has ended answered")
	}
}

// The reason of a crash is found behind what was said before, and where a program hangs.
func TestCrash(t *testing.T) {
	t.Parallel()
	var n length
	var ended *EndedError
	if err := started(t, "plain").Ask("panic", &n); !errors.As(err, &ended) || ended.Why != "panic: boom" || ended.How != "exit status 2" {
		t.Errorf("a crash came as %v", err)
	}
	p := started(t, "plain")
	if err := p.AskWithin(t.Context(), 5*time.Second, "hang", &n); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("a hang came as %v", err)
	}
	if at := p.Stacks(); !strings.HasPrefix(at, "[sleep]") || !strings.Contains(at, "proc.init") {
		t.Errorf("it hangs in %q", at)
	}
}

// A server that is about to end is waited for, and one that lives loses no answer by it.
func TestExplain(t *testing.T) {
	if err := started(t, "dying").Explain(errors.New("EOF")); err == nil || err.Error() != "EOF: the server ended (exit status 4)" {
		t.Errorf("a death is explained as %v", err)
	}
	live := started(t, "plain")
	if err := live.Explain(errors.New("EOF")); err == nil || err.Error() != "EOF" {
		t.Errorf("what a server that lives has nothing to do with is explained as %v", err)
	}
	var n length
	if err := live.Ask("abc", &n); err != nil || n.N != 5 {
		t.Errorf("answer %d, %v", n, err)
	}
}

// An answer that nobody waits for any more is not taken for the next one's.
func TestLateAnswer(t *testing.T) {
	p := started(t, "plain")
	var n length
	if err := p.AskWithin(t.Context(), time.Nanosecond, "slow", &n); err == nil {
		t.Log("the machine is so slow that the answer was there")
	}
	if err := p.Ask("abc", &n); err != nil || n.N != 5 {
		t.Errorf("answer %d, %v, to another question", n, err)
	}
}

func TestStartFails(t *testing.T) {
	var ready text
	for name, why := range map[string]string{
		"failing":  "the server ended (exit status 1): address already in use",
		"nobody":   `there is no server "nobody": there are babbling, configured, dying, failing, lingering, plain`,
		"babbling": `the server said "hello?\n", which is not an answer`,
	} {
		if _, err := StartServer(t.Context(), name, nil, &ready); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	var ready text
	p, err := StartServer(t.Context(), "configured", "world", &ready)
	if err != nil || ready.Text != "hello world" {
		t.Fatalf("%v, ready %q", err, ready)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := StartServer(t.Context(), "configured", "nobody", &ready); err == nil || !strings.Contains(err.Error(), "nobody is not served") {
		t.Errorf("a refusal came as %v", err)
	}
}

func TestCloseEndsTheProcess(t *testing.T) {
	p := started(t, "plain")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p.cmd.ProcessState == nil || !p.cmd.ProcessState.Success() {
		t.Errorf("it ended with %v", p.cmd.ProcessState)
	}
}

// What a child with a group of its own has started is killed with it.
func TestKillGroup(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	p, err := Open(Command{Who: "the shell", Args: []string{"sh", "-c", `sleep 600 & echo "{\"N\": $!}"; wait`}, Group: true})
	if err != nil {
		t.Fatal(err)
	}
	var grandchild length
	if err := p.receive(t.Context(), &grandchild, time.Minute); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if !hasEnded(grandchild.N) {
		t.Error("a grandchild is left behind")
	}
}

// A hang says where, from the stacks that Go prints on SIGQUIT.
func TestMainGoroutine(t *testing.T) {
	o := &Output{first: []byte("SIGQUIT: quit\nPC=0x1\n\ngoroutine 1 gp=0x1 m=nil [select (no cases)]:\n" +
		"runtime.gopark(0x1, 0x2)\n\t/go/src/runtime/proc.go:1 +0x1\nexample.org/lab.work(0x3)\n\t/src/lab/work.go:7 +0x1\n\ngoroutine 2 [running]:\n")}
	if got, want := o.mainGoroutine(), "[select (no cases)] runtime.gopark < lab.work"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
