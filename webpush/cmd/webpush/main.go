// Webpush makes VAPID keys and sends Web Push notifications, to yourself or to a million:
//
//	webpush keys
//	webpush send -subject mailto:you@example.com -subscription sub.json 'Hello!'
//	webpush broadcast -subject mailto:you@example.com -message news.json subs.ndjson
//
// To send yourself one, open the page of `webpush demo`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	p := program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// Exit codes.
const (
	exitSome        = 1 // some messages were not taken
	exitUsage       = 2 // wrong usage, or nothing could be done
	exitInterrupted = 130
)

// A program is the command, apart from the process around it.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	transport      http.RoundTripper // nil for the client's own
}

const usage = `Webpush makes VAPID keys and sends Web Push notifications, to yourself or to a million.

  webpush demo                     a page on which your own browser subscribes
  webpush keys                     make a VAPID key pair, or show the public key of an existing one
  webpush send [MESSAGE]           encrypt, sign and send one message
  webpush broadcast FILE.ndjson    send one message to all subscriptions in a file

webpush COMMAND -h shows the flags.
`

// errSome ends a broadcast that could not send every message; the output says how many.
var errSome = errors.New("some messages were not taken")

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// run returns the exit code.
func (p program) run(ctx context.Context, args []string) int {
	err := p.command(ctx, args)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errSome):
		return exitSome
	}
	p.say("%s", strings.TrimPrefix(err.Error(), "webpush: "))
	var h hinted
	if errors.As(err, &h) {
		fmt.Fprintf(p.stderr, "hint: %s\n", h.hint)
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitUsage
}

func (p program) command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage)
		return hinted{errors.New("no command"), "`webpush keys` is the first"}
	}
	switch args[0] {
	case "keys":
		return p.keys(args[1:])
	case "demo":
		return p.demo(ctx, args[1:])
	case "send":
		return p.send(ctx, args[1:])
	case "broadcast":
		return p.broadcast(ctx, args[1:])
	case "help", "-h", "-help", "--help":
		fmt.Fprint(p.stdout, usage)
		return nil
	}
	return hinted{fmt.Errorf("unknown command %q", args[0]), "the commands are demo, keys, send and broadcast"}
}

// say tells a person something, in the place of a progress that is drawn.
func (p program) say(format string, a ...any) {
	if isTerminal(p.stderr) {
		fmt.Fprint(p.stderr, "\r\x1b[K")
	}
	fmt.Fprintf(p.stderr, "webpush: "+format+"\n", a...)
}

// newFlags are the flags of a command. about is what its help says before them.
func (p program) newFlags(command, about string) *flag.FlagSet {
	f := flag.NewFlagSet("webpush "+command, flag.ContinueOnError)
	f.SetOutput(io.Discard) // of its errors, which run prints
	f.Usage = func() {
		f.SetOutput(p.stdout)
		fmt.Fprintf(p.stdout, "%s\n\nFlags:\n", about)
		f.PrintDefaults()
	}
	return f
}

// parse reads flags and other arguments in any order, up to most of the latter.
func parse(f *flag.FlagSet, args []string, most int) (others []string, err error) {
	help := f.Usage
	f.Usage = func() {}
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			help()
			return nil, err
		} else if err != nil {
			return nil, hinted{err, fmt.Sprintf("`%s -h` shows the flags", f.Name())}
		}
		rest := f.Args()
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			others, args = append(others, rest...), nil
		} else if len(rest) > 0 {
			others, args = append(others, rest[0]), rest[1:]
		} else {
			args = nil
		}
	}
	if len(others) > most {
		return nil, hinted{fmt.Errorf("too many arguments: %s", strings.Join(others[most:], " ")), fmt.Sprintf("`%s -h` shows which there are", f.Name())}
	}
	return others, nil
}

// isTerminal reports whether a person reads or types there.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
