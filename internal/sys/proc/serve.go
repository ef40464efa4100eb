package proc

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Server is the main function of a process that [StartServer] started: it reads its configuration
// with ReadConfig, if it has one, starts serving, and calls Serve.
type Server func(stdin io.Reader, stdout io.Writer) error

// ownGOGC is the variable that has the GOGC of a process of this program from [TakeGOGC] on.
const ownGOGC = "POSTAGE_GOGC"

// LaterGOGC is the environment of a process of this program that takes its GOGC by [TakeGOGC]. Until
// then nothing is collected: that would take a third of the time in which the program starts.
func LaterGOGC(gogc string) []string { return []string{"GOGC=off", ownGOGC + "=" + gogc} }

// TakeGOGC sets GOGC to what [LaterGOGC] was given, also for processes that this one starts.
func TakeGOGC() {
	gogc, given := os.LookupEnv(ownGOGC)
	if !given {
		return
	}
	percent, err := strconv.Atoi(cmp.Or(gogc, "100"))
	if err != nil { // off
		percent = -1
	}
	debug.SetGCPercent(percent)
	os.Setenv("GOGC", gogc)
	os.Unsetenv(ownGOGC)
}

// serveCommand is the argument of a program that is to serve; the server's name follows.
const serveCommand = "serve"

// ServeNamed runs the named server. Anything else that prints to standard output goes to standard
// error instead: standard output is for answers.
func ServeNamed(servers map[string]Server, name string, stdin io.Reader, stdout io.Writer) error {
	serve, ok := servers[name]
	if !ok {
		return fmt.Errorf("serve: there is no server %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
	}
	os.Stdout = os.Stderr
	TakeGOGC()
	return serve(stdin, stdout)
}

// ServeIfStarted serves, and ends the process, if StartServer started it; else it does
// nothing. It is for programs that are not the command, such as tests.
func ServeIfStarted(servers map[string]Server) {
	if len(os.Args) != 3 || os.Args[1] != serveCommand {
		return
	}
	if err := ServeNamed(servers, os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Serve writes ready, unless that is nil, and then answers each line of the input until that ends.
// An answer must be a JSON object without a field "error", which is for errors.
func Serve(stdin io.Reader, stdout io.Writer, ready any, answer func(question json.RawMessage) (any, error)) error {
	if ready != nil {
		if err := say(stdout, ready, nil); err != nil {
			return err
		}
	}
	decoder := json.NewDecoder(stdin)
	for {
		var question json.RawMessage
		if err := decoder.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		value, err := answer(question)
		if err := say(stdout, value, err); err != nil {
			return err
		}
	}
}

// ReadConfig reads, before Serve, what StartServer was given.
func ReadConfig(stdin *bufio.Reader, config any) error {
	line, err := stdin.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, config)
	}
	if err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	return nil
}

// Refuse, called in place of Serve, says why there is no server.
func Refuse(stdout io.Writer, why error) error { return say(stdout, nil, why) }

// failure is written in place of an answer.
type failure struct {
	Error string `json:"error"`
}

func say(stdout io.Writer, value any, err error) error {
	var line []byte
	if err == nil {
		line, err = json.Marshal(value)
	}
	if err != nil {
		if line, err = json.Marshal(failure{err.Error()}); err != nil {
			return err
		}
	}
	if _, err := stdout.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
